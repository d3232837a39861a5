"""Runs planted jobs one after the other, each in fresh processes, and keeps their step times and traces.

A job is a generator function of a `Context` that yields once a step. The parent imports torch once and never touches
the GPU, so a forked child starts in milliseconds and still has a first CUDA call of its own. Every job is measured bare
and then traced; results are written as they come, so that a run that is cut short leaves what it had.
Not covered: jobs of more than one host.
"""

import argparse
import dataclasses
import json
import multiprocessing
import os
import pathlib
import shutil
import statistics
import tarfile
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator

import torch

TAR_BYTES = 15 << 20
Steps = Callable[["Context"], Iterator[None]]


@dataclasses.dataclass(frozen=True)
class Job:
    """One planted job: what its trace must be called (`truth`), what else is fair (`accept`), and how it is run.

    `sync` is "step" (a device synchronisation ends every step) or "loop" (none but what the job itself does).
    `schedule` records ProfilerStep annotations; `startup` traces from the first CUDA call; `fixable` has a fixed form.
    """

    name: str
    steps: Steps
    truth: str
    accept: tuple[str, ...] = ()
    sync: str = "loop"
    count: int = 14
    bare: int = 24
    warm: int = 5
    stack: bool = False
    schedule: bool = False
    startup: bool = False
    fixable: bool = True
    timeout: int = 60


@dataclasses.dataclass
class Context:
    """What a job may know: its device, whether the plant is taken out, a scratch folder, and its rank."""

    dev: torch.device
    fixed: bool
    tmp: pathlib.Path
    rank: int = 0
    world: int = 1

    @property
    def cuda(self) -> bool:
        """Whether the job runs on a GPU."""
        return self.dev.type == "cuda"

    def pick(self, gpu: int, cpu: int) -> int:
        """Return the size for a GPU, or the small one for a smoke run on the CPU."""
        return gpu if self.cuda else cpu

    def sync(self) -> None:
        """Wait for the device."""
        if self.cuda:
            torch.cuda.synchronize(self.dev)


def run_steps(job: Job, ctx: Context, steps: Iterator[None], count: int, after: Callable[[], None]) -> list[float]:
    """Run `count` steps and return their seconds; the wait for the device at the end belongs to the last one."""
    times = []
    ctx.sync()
    for k in range(count):
        start = time.perf_counter()
        next(steps)
        if job.sync == "step" or k == count - 1:
            ctx.sync()
        times.append(time.perf_counter() - start)
        after()
    return times


def summary(prefix: str, times: list[float]) -> dict[str, float]:
    """Return mean and median in milliseconds."""
    mean = sum(times) / len(times)
    return {f"{prefix}_mean_ms": round(mean * 1e3, 4), f"{prefix}_median_ms": round(statistics.median(times) * 1e3, 4)}


def traced(job: Job, ctx: Context, steps: Iterator[None] | None, path: str) -> dict[str, float]:
    """Run the job under torch.profiler and export its trace; with `steps` None the job starts inside the trace."""
    acts = [torch.profiler.ProfilerActivity.CPU]
    if ctx.cuda:
        acts.append(torch.profiler.ProfilerActivity.CUDA)
    skip = 3 if job.schedule else 0
    plan = torch.profiler.schedule(wait=1, warmup=2, active=job.count, repeat=1) if job.schedule else None
    ready = (lambda p: p.export_chrome_trace(path)) if job.schedule else None
    prof = torch.profiler.profile(
        activities=acts, record_shapes=True, with_stack=job.stack, schedule=plan, on_trace_ready=ready
    )
    align(ctx, acts)
    begin = time.perf_counter()
    with prof:
        inside = time.perf_counter()
        if steps is None:
            steps = job.steps(ctx)
            for _ in range(job.count):
                next(steps)
            ctx.sync()
            times = [(time.perf_counter() - inside) / job.count]
        else:
            times = run_steps(job, ctx, steps, job.count + skip, prof.step if job.schedule else lambda: None)
        wall = time.perf_counter() - inside
    total = time.perf_counter() - begin
    if not job.schedule:
        prof.export_chrome_trace(path)
    found = summary("traced", times[skip:])
    return {**found, "traced_wall_ms": round(wall * 1e3, 3), "profiled_wall_ms": round(total * 1e3, 3)}


def align(ctx: Context, acts: list[torch.profiler.ProfilerActivity]) -> None:
    """Let ranks start their traces together: the profiler's first start takes a second, and not the same on each."""
    if ctx.world == 1:
        return
    with torch.profiler.profile(activities=acts):
        torch.ones(8, device=ctx.dev).add_(1)
    ctx.sync()
    torch.distributed.barrier()


def measure(job: Job, ctx: Context, part: str, trace: str) -> dict[str, float]:
    """Measure one job in this process: part is "both", or "bare" or "traced" alone for a job that starts cold."""
    cold = job.startup and not ctx.fixed
    if cold and part == "bare":
        start = time.perf_counter()
        steps = job.steps(ctx)
        for _ in range(job.count):
            next(steps)
        ctx.sync()
        return summary("bare", [(time.perf_counter() - start) / job.count])
    if cold:
        return traced(job, ctx, None, trace)
    steps = job.steps(ctx)
    for _ in range(job.warm):
        next(steps)
    found = summary("bare", run_steps(job, ctx, steps, job.bare, lambda: None))
    found.update(traced(job, ctx, steps, trace))
    steps.close()
    return found


def child(job: Job, fixed: bool, part: str, rank: int, world: int, device: str, work: str) -> None:
    """Run one rank of one job and leave its numbers (or its error) in `work`."""
    out = pathlib.Path(work) / f"result.{part}.{rank}.json"
    stem = f"{job.name}{'.fixed' if fixed else ''}" + (f".rank{rank}" if world > 1 else "")
    try:
        torch.manual_seed(rank)
        if device == "cpu":
            torch.set_num_threads(1)  # a smoke run's ranks share few cores
        dev = torch.device(device, rank) if device == "cuda" else torch.device(device)
        tmp = pathlib.Path(work) / f"tmp{rank}"
        tmp.mkdir(exist_ok=True)
        ctx = Context(dev, fixed, tmp, rank, world)
        if world > 1:
            join(ctx, work)
        found = measure(job, ctx, part, str(pathlib.Path(work) / f"{stem}.json.gz"))
        if world > 1:
            torch.distributed.barrier()
    except Exception as err:  # one job's crash must not end the run
        found = {"error": f"{type(err).__name__}: {err}"[:500], "where": traceback.format_exc()[-800:]}
    out.write_text(json.dumps(found))
    os._exit(0)


def join(ctx: Context, work: str) -> None:
    """Join the process group of this job: NCCL on GPUs, Gloo on a CPU."""
    extra = {"init_method": f"file://{work}/rendezvous", "rank": ctx.rank, "world_size": ctx.world}
    if ctx.cuda:
        torch.cuda.set_device(ctx.dev)
        extra["device_id"] = ctx.dev
    torch.distributed.init_process_group("nccl" if ctx.cuda else "gloo", **extra)


def run_part(job: Job, fixed: bool, part: str, world: int, device: str, start: str, work: str) -> list[dict]:
    """Run one part of one job on `world` processes; a rank that hangs or dies is an error, not an end."""
    context = multiprocessing.get_context(start)
    args = (world, device, work)
    ranks = [context.Process(target=child, args=(job, fixed, part, r, *args)) for r in range(world)]
    for p in ranks:
        p.start()
    end = time.monotonic() + job.timeout
    for p in ranks:
        p.join(max(0.1, end - time.monotonic()))
    for p in ranks:
        if p.is_alive():
            p.kill()
            p.join()
    found = []
    for r in range(world):
        path = pathlib.Path(work) / f"result.{part}.{r}.json"
        found.append(json.loads(path.read_text()) if path.exists() else {"error": "died or timed out"})
    return found


def run_job(job: Job, fixed: bool, world: int, device: str, start: str, work: str) -> dict:
    """Run one form of one job and return its line: the slowest rank's numbers, and each rank's beside them."""
    parts = ["bare", "traced"] if job.startup and not fixed else ["both"]
    ranks: list[dict] = [{} for _ in range(world)]
    for part in parts:
        for rank, found in enumerate(run_part(job, fixed, part, world, device, start, work)):
            ranks[rank].update(found)
    line = {"name": job.name, "fixed": fixed, "truth": job.truth, "accept": list(job.accept), "sync": job.sync}
    line |= {"steps": job.count, "bare_steps": job.bare, "stack": job.stack, "schedule": job.schedule, "world": world}
    errors = [r["error"] for r in ranks if "error" in r]
    if errors:
        return line | {"error": errors[0], "where": next((r["where"] for r in ranks if "where" in r), None)}
    line |= {key: max(r[key] for r in ranks) for key in ranks[0]}
    return line | ({"ranks": ranks} if world > 1 else {})


def pack(work: pathlib.Path, out: pathlib.Path, label: str) -> int:
    """Append the traces in `work` to the first tar of `out` that has room; returns the bytes packed."""
    size = 0
    for path in sorted(work.glob("*.json.gz")):
        need = path.stat().st_size + 2048
        if need > TAR_BYTES:
            continue
        n = 0
        while (tar := out / f"{label}{n}.tar").exists() and tar.stat().st_size + need > TAR_BYTES:
            n += 1
        with tarfile.open(tar, "a") as archive:
            archive.add(path, arcname=path.name)
        size += need
    return size


def touch(device: str) -> None:
    """Do the least that shows whether a child of this kind can use the device."""
    torch.zeros(8, device=device).add_(1).cpu()
    os._exit(0)


def start_method(device: str) -> str:
    """Return "fork" where a forked child can use the device, otherwise "spawn"."""
    probe = multiprocessing.get_context("fork").Process(target=touch, args=(device,))
    probe.start()
    probe.join(60)
    if probe.is_alive():
        probe.kill()
    return "fork" if probe.exitcode == 0 else "spawn"


def main(jobs: list[Job], world: int, label: str) -> int:
    """Run the jobs asked for and print one JSON line each."""
    parser = argparse.ArgumentParser(description="planted jobs: bare and traced step times, and their traces")
    parser.add_argument("-o", "--out", required=True, help="folder for results.jsonl and the tar files of traces")
    parser.add_argument("--only", help="comma-separated names; all by default")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--start", choices=["fork", "spawn"], help="how children start; found out by default")
    parser.add_argument("--deadline", type=float, default=470, help="seconds after which no further job is started")
    parser.add_argument("--loose", action="store_true", help="leave the traces as files instead of in tar files")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    begin = time.monotonic()
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    wanted = args.only.split(",") if args.only else None
    chosen = [j for j in jobs if wanted is None or j.name in wanted]
    if args.list:
        print("\n".join(f"{j.name}\t{j.truth}" for j in chosen))
        return 0
    start = args.start or start_method(args.device)
    print(json.dumps({"torch": torch.__version__, "start": start, "jobs": len(chosen), "world": world}), flush=True)
    with open(out / f"{label}.results.jsonl", "a") as results:
        for job, fixed in [(j, f) for j in chosen for f in ((False, True) if j.fixable else (False,))]:
            took = time.monotonic()
            if took - begin > args.deadline:
                line = {"name": job.name, "fixed": fixed, "error": "not started: past the deadline"}
            else:
                work = pathlib.Path(tempfile.mkdtemp(prefix="planted"))
                line = run_job(job, fixed, world, args.device, start, str(work))
                if args.loose:
                    for path in work.glob("*.json.gz"):
                        shutil.move(path, out / path.name)
                else:
                    line["packed_bytes"] = pack(work, out, label)
                shutil.rmtree(work, ignore_errors=True)
                line["job_s"] = round(time.monotonic() - took, 2)
            print(json.dumps(line), flush=True)
            results.write(json.dumps(line) + "\n")
            results.flush()
    print(json.dumps({"done": True, "seconds": round(time.monotonic() - begin, 1)}), flush=True)
    return 0
