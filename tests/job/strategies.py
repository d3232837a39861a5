"""Random traces for Hypothesis: anything a profiler could have recorded, sensible or not.

Times are whole ticks of a tenth of a millisecond, so that a test can count ticks one by one, and so that the gaps lie
on both sides of every threshold of the analysis.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st
from tests.job.builder import Row, Trace, ns

TICK_MS = 0.1
TICK_NS = ns(TICK_MS)
THREADS = ("main", "autograd")
STREAMS = (7, 8, 20)
FRAMES = (
    "train.py(3): main",
    "<built-in method sleep>",
    "<built-in method read>",
    "<built-in function stat>",
    "<built-in method recv>",
    "torch/serialization.py(900): save",
    "torch/utils/data/dataloader.py(700): __next__",
)
RANGES = (
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "save_checkpoint",
    "forward",
    "nccl:all_reduce",
)
OPERATORS = ("aten::addmm", "aten::add_", "c10d::allreduce_", "_compile.compile_inner (dynamo_timed)")
CALLS = (
    "cudaDeviceSynchronize",
    "cudaMalloc",
    "cudaFree",
    "cudaEventRecord",
    "cuModuleLoadData",
    "cudaMemcpyAsync",
    "cudaStreamWaitEvent",
)

at = st.integers(0, 200).map(lambda tick: tick * TICK_MS)
lasting = st.integers(0, 30).map(lambda tick: tick * TICK_MS)


@st.composite
def traces(draw: st.DrawFn, *, seen: bool = False) -> Trace:
    """One rank's trace; with `seen` every launch has its kernel, and nothing ran that was not recorded."""
    trace = Trace(rank=draw(st.sampled_from([None, 0])), device=draw(st.sampled_from([None, "NVIDIA H200"])))
    for _ in range(draw(st.integers(1, 25))):
        draw(st.sampled_from(SEEN if seen else ANY))(draw, trace)
    for number in range(draw(st.integers(0, 4))):
        trace.step(number, 5.0 * number, 5.0)
    return trace


def _kernel(draw: st.DrawFn, trace: Trace) -> None:
    trace.kernel(draw(at), draw(lasting), stream=draw(st.sampled_from(STREAMS)))


def _launch(draw: st.DrawFn, trace: Trace) -> None:
    when, after = draw(at), draw(lasting)
    trace.launch(when, draw(lasting), ms=TICK_MS, runs_at=when + after, thread=draw(st.sampled_from(THREADS)))


def _collective(draw: st.DrawFn, trace: Trace) -> None:
    operation = draw(st.sampled_from(["allreduce", "broadcast", "send_recv"]))
    trace.collective(draw(at), draw(lasting), operation, told=draw(st.booleans()))


def _transfer(draw: st.DrawFn, trace: Trace) -> None:
    trace.transfer("HtoD", draw(st.sampled_from(["Pageable", "Pinned"])), draw(at), draw(lasting), 1 << 20)


def _copy(draw: st.DrawFn, trace: Trace) -> None:
    direction, memory = draw(st.sampled_from(["HtoD", "DtoH"])), draw(st.sampled_from(["Pageable", "Pinned"]))
    trace.copy(direction, memory, draw(at), draw(lasting), draw(st.sampled_from([4, 8 << 20])), call_ms=draw(lasting))


def _call(draw: st.DrawFn, trace: Trace) -> None:
    trace.call(draw(st.sampled_from(CALLS)), draw(at), draw(lasting), thread=draw(st.sampled_from(THREADS)))


def _op(draw: st.DrawFn, trace: Trace) -> None:
    trace.op(draw(st.sampled_from(OPERATORS)), draw(at), draw(lasting), thread=draw(st.sampled_from(THREADS)))


def _range(draw: st.DrawFn, trace: Trace) -> None:
    trace.range(draw(st.sampled_from(RANGES)), draw(at), draw(lasting), thread=draw(st.sampled_from(THREADS)))


def _python(draw: st.DrawFn, trace: Trace) -> None:
    trace.python(draw(st.sampled_from(FRAMES)), draw(at), draw(lasting), thread=draw(st.sampled_from(THREADS)))


def _profiler(draw: st.DrawFn, trace: Trace) -> None:
    trace.profiler(draw(st.sampled_from(["Buffer Flush", "Lazy Function Loading"])), draw(at), draw(lasting))


def _graph(draw: st.DrawFn, trace: Trace) -> None:
    trace.joined += 1
    trace.call("cudaGraphLaunch", draw(at), draw(lasting), causes=trace.joined)


def _lost(draw: st.DrawFn, trace: Trace) -> None:
    trace.joined += 1
    trace.call("cudaLaunchKernel", draw(at), TICK_MS, causes=trace.joined)


SEEN = (_kernel, _launch, _launch, _collective, _transfer, _copy, _call, _op, _range, _python, _profiler)
ANY = (*SEEN, _graph, _lost)


def ticks(rows: Iterable[Row]) -> set[int]:
    """The ticks that the rows cover, counted one by one."""
    return {tick for row in rows for tick in range(row.start_ns // TICK_NS, row.end_ns // TICK_NS)}
