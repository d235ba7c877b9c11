"""What is promised about the ratios, as data."""

from dataclasses import dataclass

# Peers that keep finished jobs, as we do.
KEEPERS = ("apalis-postgres", "pg-boss", "job")
ANYBODY = None


@dataclass
class Promise:
    """Ours divided by the best of these peers is at least, or at most, this."""

    what: str
    on: str
    against: tuple
    least: float = None
    most: float = None
    text: str = ""


PROMISES = [
    Promise("drain", "postgres", KEEPERS, least=1.5, text="the best peer that keeps finished jobs"),
    Promise("drain", "postgres", ("graphile_worker",), least=0.5, text="graphile_worker, which deletes them"),
    Promise("drain", "sqlite", ("apalis-sqlite",), least=1.5, text="apalis-sqlite"),
    Promise("pickup_p50", "postgres", ANYBODY, most=0.7, text="the best peer"),
    Promise("pickup_p99", "postgres", ANYBODY, most=1.0, text="the best peer"),
    Promise("pickup_p50", "sqlite", ("apalis-sqlite",), most=0.5, text="apalis-sqlite"),
    Promise("pickup_p99", "sqlite", ("apalis-sqlite",), most=1.0, text="apalis-sqlite"),
    Promise("enqueue", "postgres", ANYBODY, least=2.0, text="the best peer"),
    Promise("enqueue", "sqlite", ("apalis-sqlite",), least=2.0, text="apalis-sqlite"),
    Promise("bulk", "postgres", ANYBODY, least=1.0, text="the best peer"),
    Promise("bulk", "sqlite", ("apalis-sqlite",), least=1.0, text="apalis-sqlite"),
]

# Ours alone: the figure itself.
LIMITS = {"rest_core": 1.0, "rest_memory": 40.0, "kill_beyond_ttl": 10.0}
# Executions per second of the failure path, of those of the success path.
FAILURE_SHARE = 0.6
