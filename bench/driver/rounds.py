"""Rounds: in each, everybody measures the same thing once, one after the other; every second round goes backwards."""

import json
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field

from .build import say
from .server import sqlite_home

# What everybody measures, and what only we do.
SHARED = ["drain", "pickup", "enqueue", "bulk"]
OURS = ["failures", "rest", "kill"]
# These do not vary with the machine's load the way rates do, and take their time: once is enough.
ONCE = {"rest", "kill"}
PATIENCE = 900


@dataclass
class Results:
    """Figures by (what, on, who), one per round; `None` where a round has none."""

    figures: dict = field(default_factory=lambda: defaultdict(list))
    versions: dict = field(default_factory=dict)
    units: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)
    about: dict = field(default_factory=dict)


def measure(args, contestants, server):
    results = Results()
    results.about = {"postgres": server.version(), "disk": server.disk()}
    wanted = args.what.split(",")
    shared = [what for what in SHARED if what in wanted]
    for number in range(args.runs):
        say(f"round {number + 1} of {args.runs}")
        for what in shared:
            order = contestants if number % 2 == 0 else contestants[::-1]
            for each in order:
                one(args, each, what, server, results)
                if what == "drain" and each.ours and "failures" in wanted:
                    one(args, each, "failures", server, results)
    for what in (what for what in OURS if what in wanted and what in ONCE):
        say(what)
        for each in contestants:
            if each.ours:
                one(args, each, what, server, results)
    return results


def one(args, each, what, server, results):
    """One process, one measurement, one line per figure."""
    server.rest()
    place = None
    numbers = ["--jobs", str(args.jobs), "--samples", str(args.samples)]
    if each.ours:
        numbers += ["--only", what, "--watch", str(args.watch), "--ttl", str(args.ttl)]
        where = ["--postgres", server.url] if each.on == "postgres" else ["--sqlite", sqlite_home(server)]
    else:
        place = server.fresh(each.on)
        numbers += ["--what", what]
        where = ["--place", place]
    try:
        done = subprocess.run(each.command + where + numbers, capture_output=True, text=True, timeout=PATIENCE)
        trouble = None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no word"])[-1]
        lines = done.stdout.splitlines()
    except subprocess.TimeoutExpired:
        trouble, lines = f"not done after {PATIENCE} s", []
    if place:
        server.remove(place)
    if trouble:
        note(results, f"{each.who}, {what}: {trouble}")
    if not lines and not trouble:
        note(results, f"{each.who} cannot do this: {what}.")
    for line in lines:
        figure = json.loads(line)
        key = (figure["what"], figure["on"], figure["who"])
        results.figures[key].append(figure["value"])
        results.versions[figure["who"]] = figure["version"]
        results.units[figure["what"]] = figure["unit"]
        say(f"  {figure['who']} {figure['on']} {figure['what']} {figure['value']:.2f} {figure['unit']}")


def note(results, text):
    if text not in results.notes:
        say(f"  {text}")
        results.notes.append(text)
