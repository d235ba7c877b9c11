"""Gives a server something to look at, and prints as JSON what is there: the beginning of a path, and what can stand in it.

Usage: schemathesis_seed.py URL TOKEN FOLDER-OF-PEOPLE"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

url, token, people = sys.argv[1:]


def ask(method, path, body=None, kind="application/json"):
    head = {"authorization": f"Bearer {token}", "content-type": kind}
    request = urllib.request.Request(url + path, body, head, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def pdf(text):
    """One page with one line."""
    stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj{text}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return f"{out}xref\n0 6\n0000000000 65535 f \n{table}trailer<</Root 1 0 R/Size 6>>\nstartxref\n{len(out)}\n%%EOF\n".encode()


def upload(content):
    form = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n' + content + b"\r\n--x--\r\n"
    return ask("POST", "/api/upload", form, "multipart/form-data; boundary=x")["job"]["id"]


def wait_for(what, look):
    for _ in range(600):
        found = look()
        if found:
            return found
        time.sleep(0.1)
    sys.exit(f"never: {what}")


good = upload(pdf("hello"))
# It begins and ends like one, and is none.
bad = b"%PDF-1.4\nxref\n0 0\ntrailer<<>>\nstartxref\n9\n%%EOF\n"
upload(bad)
with open(os.path.join(people, "queue", "broken.pdf"), "wb") as file:
    file.write(bad)
wait_for("a conversion", lambda: ask("GET", f"/api/jobs/{good}").get("status") == "complete")
letter = wait_for("a dead letter", lambda: ask("GET", "/api/dead-letters?workload=convert").get("dead_letters"))[0]
document = wait_for("a document", lambda: ask("GET", "/api/intake/documents").get("documents"))[0]
replay = ask("POST", "/api/replays", b'{"filter": {"workload": "convert"}, "reason": "tried"}')
known = {
    "/api/jobs/": good,
    "/api/dead-letters/": letter["offset"],
    "/api/groups/": letter["group"],
    "/api/breakers/": "gateway",
    "/api/workers/": ask("GET", "/api/workers")["workers"][0]["id"],
    "/api/intake/documents/": document["id"],
    "/api/failures/": "GW_TIMEOUT",
    "/api/replays/": replay["id"],
}
print(json.dumps({path: str(what) for path, what in known.items()}))
