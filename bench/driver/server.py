"""A private Postgres with the settings of scripts/postgres.sh, and places on the disk for SQLite."""

import shutil
import subprocess
from pathlib import Path

from .build import ROOT

SCRIPT = str(ROOT / "scripts" / "postgres.sh")


class Server:
    """Runs while the `with` block does."""

    def __init__(self, folder):
        self.folder = folder
        self.made = 0

    def __enter__(self):
        # Postgres runs as somebody else where we are root.
        self.folder.chmod(0o755)
        started = subprocess.run([SCRIPT, "start", str(self.folder / "postgres")], check=True, capture_output=True, text=True)
        self.url = started.stdout.strip()
        fsync = self.ask("SHOW fsync")
        if fsync != "on":
            raise SystemExit(f"fsync is {fsync}: nothing durable would be measured")
        return self

    def __exit__(self, *_):
        subprocess.run([SCRIPT, "stop", str(self.folder / "postgres")], check=False)

    def ask(self, *statements):
        command = ["psql", "-X", "-q", "-A", "-t", self.url]
        for statement in statements:
            command += ["-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def version(self):
        return self.ask("SHOW server_version").split()[0]

    def disk(self):
        """The kind of file system everything is written to."""
        asked = subprocess.run(["stat", "-f", "-c", "%T", str(self.folder)], capture_output=True, text=True)
        return asked.stdout.strip() or "unknown"

    def fresh(self, on):
        """An empty place for one measurement of a peer: a new database, or a new folder."""
        self.made += 1
        if on == "sqlite":
            folder = self.folder / f"sqlite-{self.made}"
            folder.mkdir()
            return str(folder)
        name = f"peer_{self.made}"
        self.ask(f"CREATE DATABASE {name}")
        return f"{self.url.rsplit('/', 1)[0]}/{name}"

    def remove(self, place):
        if place.startswith("postgres"):
            name = place.rsplit("/", 1)[1]
            self.ask(f"DROP DATABASE {name} WITH (FORCE)")
        else:
            shutil.rmtree(place)

    def rest(self):
        """Before each measurement: what the last one left to be written is written."""
        self.ask("CHECKPOINT")
        subprocess.run(["sync", "-f", str(self.folder)], check=False)


def sqlite_home(server):
    folder = Path(server.folder) / "sqlite-ours"
    folder.mkdir(exist_ok=True)
    return str(folder)
