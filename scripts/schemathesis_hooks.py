"""What the tester must know that no document says: each request comes from an address of its own, so that rates do not hide what is
behind them; NDJSON is text; and half of the ids are those of things that are there."""

import json
import os
import random

import schemathesis

CHANCE = random.Random(1)
KNOWN = json.loads(os.environ.get("REDRIVE_KNOWN", "{}"))


@schemathesis.hook
def before_call(context, case, kwargs):
    if "X-Forwarded-For" not in case.headers:
        case.headers["X-Forwarded-For"] = "10." + ".".join(str(CHANCE.randrange(1, 255)) for _ in range(3))
    known = [value for prefix, value in KNOWN.items() if case.operation.path.startswith(prefix)]
    for name in list(case.path_parameters):
        if known and CHANCE.random() < 0.5:
            case.path_parameters[name] = known[0]


@schemathesis.serializer("application/x-ndjson")
def ndjson(context, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
