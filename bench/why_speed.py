"""Measures `longpole why` and its peers on the same traces: whole processes, in turn, in one run; prints one JSON line.

python bench/why_speed.py --peer-python PYTHON [--trace FILE] [--tile-events N] [--millions 1,2,5,10] [--repeats 3]

For every tool: wall-clock, user + system time and peak resident memory of the process and the children it waited for,
as medians. A peer is run as its user would run it: load the trace, then the question that comes nearest to "what binds
this job" (its breakdown of the time). The ratios are a peer's median over longpole's.
Not covered: a cold page cache (every file is read once before), and what the answers are worth.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

HTA = """
import sys
from hta.common import trace_parser
from hta.configs.parser_config import ParserBackend
from hta.trace_analysis import TraceAnalysis
trace_parser.set_default_trace_parsing_backend(ParserBackend("{backend}"))
print(TraceAnalysis(trace_files={{0: sys.argv[1]}}).get_temporal_breakdown(visualize=False).to_string())
"""
TRACELENS = """
import sys
from TraceLens import TreePerfAnalyzer
print(TreePerfAnalyzer.from_file(sys.argv[1]).get_df_gpu_timeline().to_string())
"""
TENSORBOARD = """
import sys, tempfile
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
with tempfile.TemporaryDirectory() as cache:
    data = RunProfileData.parse("worker0", None, sys.argv[1], cache)
    RunGenerator("worker0", None, data).generate_run_profile()
print(data.avg_costs.costs, data.recommendations)
"""
JSON = """
import gzip, json, sys
print(len(json.load((gzip.open if sys.argv[1].endswith(".gz") else open)(sys.argv[1], "rb"))["traceEvents"]))
"""
PEERS = {
    "hta_json": HTA.format(backend="json"),
    "hta": HTA.format(backend="ijson_batch_and_compress"),
    "tracelens": TRACELENS,
    "torch_tb_profiler": TENSORBOARD,
}
PACKAGES = ["HolisticTraceAnalysis", "ijson", "TraceLens", "orjson", "torch-tb-profiler", "pandas", "numpy"]
VERSIONS = """
import importlib.metadata, json, sys
print(json.dumps({d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}))
"""


def measure(command: list[str], limit_s: float) -> dict[str, float]:
    """Run one process to its end; returns wall and CPU seconds, peak MB and the exit status."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    timer = threading.Timer(limit_s, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    said = process.stderr.read() if process.stderr else b""
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    found = {"wall_s": wall, "cpu_s": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss / 1024}
    if process.returncode not in (0, 1, 3):  # longpole says 1 and 3 of a job, not of itself
        found["failed"] = process.returncode
        print(said.decode(errors="replace")[-500:], file=sys.stderr)
    return found


def commands(args: argparse.Namespace) -> dict[str, list[str]]:
    """Return each tool's command, without the trace."""
    found = {"longpole": [args.python, "-m", "longpole", "why"], "json_load": [args.python, "-c", JSON]}
    if args.peer_python:
        found |= {name: [args.peer_python, "-c", code] for name, code in PEERS.items()}
    wanted = args.tools.split(",") if args.tools else list(found)
    return {name: command for name, command in found.items() if name in wanted}


def median(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the medians of a tool's runs, or how it failed."""
    failed = [r["failed"] for r in runs if "failed" in r]
    if failed or not runs:
        return {"failed": failed[0] if failed else 0, "wall_s": round(max((r["wall_s"] for r in runs), default=0), 3)}
    return {key: round(statistics.median(r[key] for r in runs), 3) for key in ("wall_s", "cpu_s", "peak_mb")}


def compare(path: str, tools: dict[str, list[str]], repeats: int, limit_s: float) -> dict[str, object]:
    """Run the tools in turn on one trace, `repeats` times over."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in tools}
    for _ in range(repeats):
        for name, command in tools.items():
            if any("failed" in r for r in runs[name]):
                continue
            runs[name].append(measure([*command, path], limit_s))
            print(name, os.path.basename(path), runs[name][-1], file=sys.stderr, flush=True)
    tools_found = {name: median(found) for name, found in runs.items()}
    own = tools_found.get("longpole", {"failed": 0})
    ratios = {
        name: {key: round(found[key] / own[key], 2) for key in ("wall_s", "cpu_s", "peak_mb")}
        for name, found in tools_found.items()
        if name != "longpole" and "failed" not in found and "failed" not in own
    }
    walls = {name: [round(r["wall_s"], 3) for r in found] for name, found in runs.items()}
    spread = {name: [min(times), max(times)] for name, times in walls.items()}
    return {"bytes": os.path.getsize(path), "tools": tools_found, "wall_range_s": spread, "over_longpole": ratios}


def made(path: str, *options: str) -> int:
    """Make a trace in a process of its own: a child's peak memory starts from that of the process that forks it."""
    maker = pathlib.Path(__file__).with_name("make_trace.py")
    done = subprocess.run([sys.executable, str(maker), path, *options], capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)["events"])


def cases(args: argparse.Namespace, folder: str) -> Iterator[tuple[str, str, int, bool]]:
    """Yield (name, path, events, with peers) of every trace asked for; a made one is removed after its turn."""
    if args.trace:
        yield "given", args.trace, -1, True
    path = os.path.join(folder, "trace.json")
    if args.trace and args.tile_events:
        yield "tiled", path, made(path, "--tile", args.trace, "--events", str(args.tile_events)), True
    for millions in [float(m) for m in args.millions.split(",") if m]:
        yield f"{millions:g}M", path, made(path, "--events", str(millions * 1e6)), millions <= args.peers_to


def host() -> dict[str, object]:
    """Return what the numbers depend on: processor, cores, memory, Python, load."""
    with open("/proc/cpuinfo") as rows:
        names = [row.split(":", 1)[1].strip() for row in rows if row.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cpu = names[0] if names else platform.machine()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "python": platform.python_version(),
        "load_1m": round(os.getloadavg()[0], 2),
        "date": time.strftime("%Y-%m-%d"),
    }


def versions(python: str | None) -> dict[str, str]:
    """Return the versions of the peers that are installed there."""
    if not python:
        return {}
    found = json.loads(subprocess.run([python, "-c", VERSIONS], capture_output=True, check=True).stdout)
    return {name: found[name] for name in PACKAGES if name in found}


def main() -> int:
    """Read the command line, run everything, print one line."""
    parser = argparse.ArgumentParser(description="longpole why against its peers")
    parser.add_argument("--python", default=sys.executable, help="the Python that has longpole")
    parser.add_argument("--peer-python", help="the Python that has the peers")
    parser.add_argument("--tools", help="comma-separated; all by default")
    parser.add_argument("--trace", help="a real trace")
    parser.add_argument("--tile-events", type=float, default=0, help="also that trace laid end to end, so many events")
    parser.add_argument("--millions", default="", help="made-up traces of so many million events, as 1,2,5,10")
    parser.add_argument("--peers-to", type=float, default=2, help="no peers on made-up traces of more million events")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit-s", type=float, default=900, help="a process is ended after so many seconds")
    args = parser.parse_args()
    tools = commands(args)
    line: dict[str, object] = {"bench": "why_speed", "host": host(), "versions": versions(args.peer_python)}
    line |= {"repeats": args.repeats, "cases": {}}
    folder = tempfile.mkdtemp(prefix="why_speed")
    try:
        for name, path, events, with_peers in cases(args, folder):
            own = {n: c for n, c in tools.items() if with_peers or n not in PEERS}
            found = compare(path, own, args.repeats, args.limit_s)
            line["cases"][name] = {"events": events, **found}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
