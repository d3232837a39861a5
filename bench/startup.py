"""Measures how fast longpole starts: `--help` and a small trace's verdict over a bare Python; prints one JSON line.

python bench/startup.py [--trace SMALL.json.gz] [--repeats 15] [--python PYTHON]
The runs take turns, so that a busy moment of the host falls on all of them; numbers are medians in milliseconds.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time

ROW = re.compile(r"import time:\s*(\d+) \|\s*(\d+) \| (\s*)(\S+)")
HEAVY = ("numpy", "rich", "torch", "ray", "pandas", "msgspec", "click", "pynvml", "asyncio", "email", "http", "ssl")


def timed(command: list[str]) -> float:
    """Return the milliseconds a command takes."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return (time.perf_counter() - start) * 1e3


def imports(command: list[str]) -> dict[str, object]:
    """Return what a command imports: the count, the largest by cumulative time, and which heavy packages."""
    shown = subprocess.run([command[0], "-X", "importtime", *command[1:]], capture_output=True, text=True, check=False)
    rows = [(int(m[2]), int(m[1]), m[4]) for m in ROW.finditer(shown.stderr)]
    roots: dict[str, int] = {}
    for _, own, name in rows:
        root = name.split(".")[0]
        roots[root] = roots.get(root, 0) + own
    largest = dict(sorted(roots.items(), key=lambda item: -item[1])[:10])
    return {
        "modules": len(rows),
        "self_ms_by_package": {name: round(own / 1e3, 1) for name, own in largest.items()},
        "heavy": sorted(root for root in roots if root in HEAVY),
    }


def main() -> int:
    """Read the command line, take the measurements in turn, print one line."""
    parser = argparse.ArgumentParser(description="how fast longpole starts")
    parser.add_argument("--python", default=sys.executable, help="the Python that has longpole")
    parser.add_argument("--trace", help="a small trace for a verdict")
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    runs = {"bare": [args.python, "-c", "pass"], "help": [args.python, "-m", "longpole", "--help"]}
    if args.trace:
        runs["why"] = [args.python, "-m", "longpole", "why", args.trace]
        runs["why_json"] = [args.python, "-m", "longpole", "why", "--json", args.trace]
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(args.repeats):
        for name, command in runs.items():
            times[name].append(timed(command))
    found = {name: round(statistics.median(values), 1) for name, values in times.items()}
    over = {name: round(value - found["bare"], 1) for name, value in found.items() if name != "bare"}
    seen = {name: imports(command) for name, command in runs.items() if name in ("help", "why")}
    line = {"bench": "startup", "repeats": args.repeats, "median_ms": found, "over_bare_ms": over, "imports": seen}
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
