"""Makes big traces in the form of the PyTorch profiler's, the same ones every time, one event at a time.

python bench/make_trace.py OUT --events N [--rank R --world W] [--clock absolute|base]   a made-up training job
python bench/make_trace.py OUT --events N --tile TRACE                                  a real trace, laid end to end

OUT ends in .json or .json.gz. Times are microseconds with three decimals: since 1970 ("absolute", as older profilers
wrote them) or since `baseTimeNanoseconds` ("base"). The made-up job waits for its loader, copies a batch, runs a stack
of layers forward and back, reduces gradients where there are several ranks, and takes an optimiser step.
Not covered: Python frames, memory events, graphs.
"""

import argparse
import contextlib
import gzip
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator

EPOCH_NS = 1_790_857_026_000_000_000
PID, MAIN, AUTOGRAD, COMPUTE, WIRE = 4000, 4000, 4001, 7, 20
LAYERS = 48
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x"
GELU = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)"
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>>(float)"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def us(ns: int) -> str:
    """Return nanoseconds as microseconds with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}"


class Job:
    """A made-up training job: it keeps the clocks of its threads and streams and writes the events of one step."""

    def __init__(self, rank: int, world: int, start_ns: int) -> None:
        self.rank, self.world, self.now = rank, world, start_ns
        self.free = {COMPUTE: start_ns, WIRE: start_ns}
        self.correlation = self.number = 0
        nccl = {"Collective name": "allreduce", "In msg nelems": 33554432, "Out msg nelems": 33554432}
        nccl |= {"Group size": world, "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]"}
        nccl |= {"Process Group Name": "0", "Process Group Description": "default_pg"}
        self.collective = ", " + json.dumps(nccl | {"Process Group Ranks": str(list(range(world)))})[1:-1]

    def jitter(self, span: int) -> int:
        """Return a number below `span` that looks random and is the same in every run."""
        self.number = (self.number * 1103515245 + 12345 + self.rank) & 0x7FFFFFFF
        return (self.number >> 8) % span

    def host(self, cat: str, name: str, tid: int, start: int, dur: int, args: str) -> str:
        """Return an interval of a host thread."""
        return (
            f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {PID}, "tid": {tid},\n'
            f'    "ts": {us(start)}, "dur": {us(dur)},\n    "args": {{\n      {args}\n    }}\n  }}'
        )

    def flow(self, phase: str, pid: int, tid: int, at: int) -> str:
        """Return one end of the arrow from a launch to what it launched."""
        end = ', "bp": "e"' if phase == "f" else ""
        return (
            f'  {{\n    "ph": "{phase}", "id": {self.correlation}, "pid": {pid}, "tid": {tid}, "ts": {us(at)},\n'
            f'    "cat": "ac2g", "name": "ac2g"{end}\n  }}'
        )

    def launch(self, call: str, tid: int, cat: str, name: str, stream: int, gpu_ns: int, extra: str) -> Iterator[str]:
        """Write a runtime call, the work it queues on a stream, and the arrow between them."""
        self.correlation += 1
        called, took = self.now, 3500 + self.jitter(2500)
        start = max(called + took + 1800, self.free[stream] + 900)
        self.free[stream] = start + gpu_ns
        ids = f'"External id": {self.correlation}'
        args = f'{ids}, "cbid": 211, "correlation": {self.correlation}'
        yield self.host("cuda_runtime", call, tid, called, took, args)
        yield self.flow("s", PID, tid, called)
        queue = f'"queued": 0, "device": {self.rank}, "context": 1,\n      "stream": {stream}'
        yield (
            f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {self.rank}, "tid": {stream},\n'
            f'    "ts": {us(start)}, "dur": {us(gpu_ns)},\n    "args": {{\n'
            f'      {ids}, {queue}, "correlation": {self.correlation}{extra}\n    }}\n  }}'
        )
        yield self.flow("f", self.rank, stream, start)
        self.now = called + took + 1200

    def kernel(self, ops: tuple[str, ...], tid: int, name: str, gpu_ns: int, stream: int = COMPUTE) -> Iterator[str]:
        """Write nested operators around one kernel."""
        start = self.now
        self.now += 2000 * len(ops)
        shape = (
            ',\n      "registers per thread": 168, "shared memory": 213248, "blocks per SM": 1.939394,'
            ' "warps per SM": 7.757576,\n      "grid": [132, 1, 1], "block": [384, 1, 1],'
            ' "est. achieved occupancy %": 12'
        )
        extra = shape + (self.collective if stream == WIRE else "")
        yield from self.launch("cudaLaunchKernel", tid, "kernel", name, stream, gpu_ns, extra)
        args = (
            f'"External id": {self.correlation}, "Record function id": 0, "Concrete Inputs": ["", "", ""],'
            ' "Input type": ["c10::BFloat16", "c10::BFloat16", ""],'
            ' "Input Dims": [[2048, 4096], [4096, 4096], []], "Ev Idx": 0'
        )
        for depth, op in enumerate(ops):
            begin = start + 2000 * depth
            yield self.host("cpu_op", op, tid, begin, self.now - begin - 100 * depth, args)
        self.now += 500

    def step(self, k: int) -> Iterator[str]:
        """Write all events of step `k`."""
        begin = self.now
        wait = 400_000 + self.jitter(300_000)
        loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        yield self.host("user_annotation", loader, MAIN, begin, wait, f'"External id": {self.correlation}, "Ev Idx": 0')
        self.now += wait + 10_000
        size = ', "bytes": 33554432, "memory bandwidth (GB/s)": 52.4288'
        name = "Memcpy HtoD (Pinned -> Device)"
        yield from self.launch("cudaMemcpyAsync", MAIN, "gpu_memcpy", name, COMPUTE, 640_000, size)
        for _ in range(LAYERS):
            yield from self.kernel(("aten::linear", "aten::addmm"), MAIN, GEMM, 90_000 + self.jitter(9000))
            yield from self.kernel(("aten::gelu",), MAIN, GELU, 12_000 + self.jitter(900))
        for layer in range(LAYERS):
            ops = ("autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0", "aten::mm")
            yield from self.kernel(ops, AUTOGRAD, GEMM, 180_000 + self.jitter(9000))
            if self.world > 1 and layer % 8 == 7:
                self.free[WIRE] = max(self.free[WIRE], self.free[COMPUTE])
                yield from self.kernel(("c10d::allreduce_",), AUTOGRAD, REDUCE, 600_000 + self.jitter(90_000), WIRE)
        self.free[COMPUTE] = max(self.free.values())
        optimiser = self.now
        yield from self.kernel(("aten::_fused_adamw_",), MAIN, ADAM, 800_000)
        args = f'"External id": {self.correlation}, "Ev Idx": 0'
        name = "Optimizer.step#AdamW.step"
        yield self.host("user_annotation", name, MAIN, optimiser, self.now - optimiser, args)
        end = max(self.free[COMPUTE] + 5000, self.now)
        args = f'"cbid": 165, "correlation": {self.correlation}'
        yield self.host("cuda_runtime", "cudaDeviceSynchronize", MAIN, self.now, end - self.now, args)
        self.now = end + 20_000
        yield self.host("user_annotation", f"ProfilerStep#{k}", MAIN, begin, end + 10_000 - begin, '"External id": 0')


def head(rank: int, world: int, base_ns: int) -> str:
    """Return all of the document that stands before its first event."""
    device = {"id": rank, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0}
    fields: dict[str, object] = {"schemaVersion": 1, "deviceProperties": [device | {"numSms": 132}]}
    if world > 1:
        group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": world, "ranks": list(range(world))}
        info = {"backend": "nccl", "rank": rank, "world_size": world, "pg_count": 1, "pg_config": [group]}
        fields["distributedInfo"] = info
    if base_ns:
        fields["baseTimeNanoseconds"] = base_ns
    fields |= {"displayTimeUnit": "ms", "traceName": "made.json"}
    return "{\n  " + json.dumps(fields)[1:-1] + ',\n  "traceEvents": [\n'


def made(events: int, rank: int, world: int, start_ns: int) -> Iterator[str]:
    """Write the made-up job: at least `events` events, in whole steps, then the profiler's own span."""
    names = ((PID, "process_name", "python"), (rank, "process_name", "python"), (rank, "process_labels", f"GPU {rank}"))
    for pid, what, name in names:
        key = "labels" if what == "process_labels" else "name"
        row = {"name": what, "ph": "M", "ts": start_ns / 1e3, "pid": pid, "tid": 0, "args": {key: name}}
        yield "  " + json.dumps(row)
    job = Job(rank, world, start_ns + 1_000_000)
    written = step = 0
    while written < events:
        for text in job.step(step):
            yield text
            written += 1
        step += 1
    yield (
        f'  {{\n    "ph": "X", "cat": "Trace", "ts": {us(start_ns)}, "dur": {us(job.now - start_ns)},\n'
        '    "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}\n  }'
    )


def shifted(event: dict, steps: int) -> Callable[[int, float, int], str]:
    """Return a function of (copy, time, id) that gives the event's text, moved that far; serialised once."""
    marks: list[tuple[str, object]] = []
    moved = json.loads(json.dumps(event))
    args = moved.get("args", {})
    places = [(moved, "ts", "time"), (moved, "id", "id"), (args, "correlation", "id"), (args, "External id", "id")]
    for owner, key, kind in places:
        if isinstance(owner.get(key), int | float) and owner[key] >= 0:
            marks.append((kind, owner[key]))
            owner[key] = f"@{len(marks) - 1}@"
    name = str(moved.get("name", ""))
    if name.startswith("ProfilerStep#"):
        marks.append(("step", int(name.split("#")[1])))
        moved["name"] = f"ProfilerStep#@{len(marks) - 1}@"
    text = json.dumps(moved).replace("%", "%%")
    order = sorted(range(len(marks)), key=lambda i: text.index(f"@{i}@"))
    for i in order:
        quoted = f'"@{i}@"'
        text = text.replace(quoted if quoted in text else f"@{i}@", "%s")
    values = [marks[i] for i in order]

    def write(copy: int, time: float, number: int) -> str:
        add = {"time": time, "id": number, "step": copy * steps}
        return text % tuple(round(value + add[kind], 3) for kind, value in values)

    return write


def tiled(trace: dict, events: int) -> Iterator[str]:
    """Write the events of a trace again and again, each copy after the last and with its own correlation ids."""
    rows = [e for e in trace["traceEvents"] if isinstance(e, dict)]
    timed = [e for e in rows if e.get("ph") == "X" and e.get("cat") != "Trace"]
    first = min(e["ts"] for e in timed)
    span = max(e["ts"] + e["dur"] for e in timed) - first + 100
    ids = 1 + max([int(e.get("args", {}).get(k, 0)) for e in timed for k in ("correlation", "External id")], default=0)
    marked = [e for e in timed if e.get("cat") == "user_annotation"]
    steps = len([e for e in marked if str(e.get("name")).startswith("ProfilerStep#")])
    copies = max(1, round(events / len(rows)))
    for e in rows:
        if e.get("ph") == "M" or e.get("cat") == "Trace":
            yield "  " + json.dumps(e | ({"dur": e["dur"] + span * (copies - 1)} if "dur" in e else {}))
    writers = [shifted(e, steps) for e in rows if e.get("ph") != "M" and e.get("cat") != "Trace"]
    for copy in range(copies):
        for write in writers:
            yield "  " + write(copy, copy * span, copy * ids)


def write(path: str, top: str, events: Iterable[str]) -> int:
    """Write the document to a file, gzipped where its name says so, and return the number of events."""
    count = 0
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(path, "wb"))
        if path.endswith(".gz"):
            out = stack.enter_context(gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=4, mtime=0))
        text = stack.enter_context(io.TextIOWrapper(io.BufferedWriter(out, 1 << 20), encoding="utf-8"))
        text.write(top)
        for event in events:
            text.write(",\n" if count else "")
            text.write(event)
            count += 1
        text.write("\n  ]\n}\n")
    return count


def make(path: str, events: int, rank: int = 0, world: int = 1, base: bool = True) -> int:
    """Make a trace of a made-up job and return its number of events."""
    start = 5_220_781_282_985_351 if base else EPOCH_NS
    return write(path, head(rank, world, EPOCH_NS if base else 0), made(events, rank, world, start))


def tile(path: str, source: str, events: int) -> int:
    """Lay a real trace end to end until it has about `events` events; returns how many it has."""
    with gzip.open(source) if source.endswith(".gz") else open(source, "rb") as file:
        trace = json.load(file)
    fields = {k: v for k, v in trace.items() if k != "traceEvents"}
    top = "{\n  " + (json.dumps(fields)[1:-1] + "," if fields else "") + '\n  "traceEvents": [\n'
    return write(path, top, tiled(trace, events))


def main() -> int:
    """Read the command line and make one trace."""
    parser = argparse.ArgumentParser(description="make a big trace in the form of the PyTorch profiler's")
    parser.add_argument("out")
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--clock", choices=["absolute", "base"], default="base")
    parser.add_argument("--tile", help="a real trace to lay end to end")
    args = parser.parse_args()
    if args.tile:
        count = tile(args.out, args.tile, int(args.events))
    else:
        count = make(args.out, int(args.events), args.rank, args.world, args.clock == "base")
    print(json.dumps({"out": args.out, "events": count}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
