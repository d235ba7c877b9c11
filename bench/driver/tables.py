"""The printed tables."""

import os
import platform
from statistics import median

from .promises import FAILURE_SHARE, LIMITS, PROMISES

US = "redrive"
NAMES = {
    "drain": "drain",
    "pickup_p50": "pick-up p50",
    "pickup_p99": "pick-up p99",
    "enqueue": "enqueue one, 8 callers",
    "bulk": "enqueue all",
    "failures": "failure path",
    "rest_core": "at rest, processor",
    "rest_memory": "at rest, memory",
    "kill": "kill -9 to running again",
    "kill_beyond_ttl": "the same, beyond the lease",
}
LESS_IS_BETTER = {"pickup_p50", "pickup_p99"}


def ratio(results, what, on, peer):
    """The median of the rounds' ratios, ours to the peer's."""
    ours, theirs = results.figures.get((what, on, US)), results.figures.get((what, on, peer))
    if not ours or not theirs:
        return None
    return median(a / b for a, b in zip(ours, theirs))


def best(results, what, on, among):
    """The peer with the best median."""
    rows = [(who, median(values)) for (w, o, who), values in results.figures.items() if (w, o) == (what, on) and who != US]
    rows = [row for row in rows if among is None or row[0] in among]
    if not rows:
        return None
    return (min if what in LESS_IS_BETTER else max)(rows, key=lambda row: row[1])[0]


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def figures(results):
    lines = ["| what | database | who | median | from – to | ours / theirs |", "|---|---|---|--:|--:|--:|"]
    for what, name in NAMES.items():
        rows = [(on, who, v) for (w, on, who), v in results.figures.items() if w == what]
        rows.sort(key=lambda row: (row[0], row[1] != US, -median(row[2])))
        for on, who, values in rows:
            part = ratio(results, what, on, who) if who != US else None
            unit = results.units[what]
            lines.append(
                f"| {name} | {on} | {who} {results.versions[who]} | {number(median(values))} {unit} "
                f"| {number(min(values))} – {number(max(values))} | {'' if part is None else f'{part:.2f}'} |"
            )
    return lines


def promises(results):
    """Rows of (what, database, against, ratio or figure, promised, kept)."""
    rows = []
    for promise in PROMISES:
        peer = best(results, promise.what, promise.on, promise.against)
        part = ratio(results, promise.what, promise.on, peer) if peer else None
        if part is None:
            continue
        wanted = f"≥ {promise.least:.2f}" if promise.least else f"≤ {promise.most:.2f}"
        kept = part >= promise.least if promise.least else part <= promise.most
        against = promise.text if peer in promise.text else f"{promise.text}: {peer}"
        rows.append((NAMES[promise.what], promise.on, against, f"{part:.2f}", wanted, kept))
    for on in ("postgres", "sqlite"):
        fails, succeeds = results.figures.get(("failures", on, US)), results.figures.get(("drain", on, US))
        if fails and succeeds:
            part = median(a / b for a, b in zip(fails, succeeds))
            rows.append((NAMES["failures"], on, "our success path", f"{part:.2f}", f"≥ {FAILURE_SHARE:.2f}", part >= FAILURE_SHARE))
        for what, limit in LIMITS.items():
            values = results.figures.get((what, on, US))
            if values:
                unit = results.units[what]
                rows.append((NAMES[what], on, "", f"{median(values):.2f} {unit}", f"≤ {limit:g} {unit}", median(values) <= limit))
    return rows


def all_kept(results):
    return all(row[-1] for row in promises(results))


def machine():
    try:
        model = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    return f"{os.cpu_count()} cores of {model}"


def render(args, results):
    about = results.about
    lines = [
        f"Median of {args.runs} rounds of {args.jobs:,} jobs; {machine()}; Postgres {about['postgres']}, fsync on; {about['disk']}.",
        "",
        *figures(results),
        "",
        "| what | database | against | measured | promised | kept |",
        "|---|---|---|--:|--:|---|",
    ]
    for *cells, kept in promises(results):
        lines.append(f"| {' | '.join(cells)} | {'yes' if kept else 'NO'} |")
    if results.notes:
        lines += ["", *(f"- {text}" for text in results.notes)]
    return "\n".join(lines)
