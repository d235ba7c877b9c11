"""Builds our side and every peer. A peer that does not build is a line in the notes, not the end of the run."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
PG_BOSS = BENCH / "pg-boss"


@dataclass
class Contestant:
    """Who is measured, on which database, and the command that measures one thing once."""

    who: str
    on: str
    command: list
    ours: bool = False


# The packages of the peers' workspace.
PEERS = [
    ("graphile_worker", "postgres", "bench-graphile"),
    ("apalis-postgres", "postgres", "bench-apalis-pg"),
    ("job", "postgres", "bench-job"),
    ("sqlxmq", "postgres", "bench-sqlxmq"),
    ("apalis-sqlite", "sqlite", "bench-apalis-lite"),
]


def say(text):
    print(text, file=sys.stderr, flush=True)


def targets():
    """Each workspace builds into a folder of its own."""
    set_by_user = os.environ.get("CARGO_TARGET_DIR")
    if set_by_user:
        return Path(set_by_user), Path(set_by_user + "-peers")
    return ROOT / "target", BENCH / "target"


def cargo(folder, target, *what):
    """The executables that could be built, by name."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--keep-going", "--message-format=json-render-diagnostics"]
    done = subprocess.run([*command, "--target-dir", str(target), *what], cwd=folder, stdout=subprocess.PIPE, text=True)
    built = (json.loads(line) for line in done.stdout.splitlines())
    return {one["target"]["name"]: one["executable"] for one in built if one.get("executable")}


def everything():
    """All contestants that could be built, ours first, and what could not be."""
    ours, peers = targets()
    say("building redrive")
    engine = cargo(ROOT, ours, "-p", "redrive-cli", "--bin", "redrive").get("redrive")
    if not engine:
        sys.exit("redrive itself does not build")
    found = [Contestant("redrive", on, [engine, "bench", "--json", "--runs", "1"], ours=True) for on in ("postgres", "sqlite")]
    missing = []
    say("building the peers")
    built = cargo(BENCH, peers, "--workspace")
    for who, on, package in PEERS:
        if package in built:
            found.append(Contestant(who, on, [built[package]]))
        else:
            missing.append(f"{who} does not build here.")
    say("installing pg-boss")
    if subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=PG_BOSS).returncode == 0:
        node = PG_BOSS / "node_modules" / ".bin" / "node"
        found.append(Contestant("pg-boss", "postgres", [str(node), str(PG_BOSS / "bench.mjs")]))
    else:
        missing.append("pg-boss could not be installed here.")
    return found, missing
