"""Traces made by hand, in the language of the domain, so that a test reads like the story of a job.

Times are milliseconds from the start of the story. Nothing here knows a file format or the rules of the analysis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from longpole.job import why
from longpole.timeline.columns import Collectives, Kind, Lane, Timeline
from longpole.verdict import Evidence, Verdict

MS = 1_000_000
#: Some Unix time: a clock that begins at zero would hide what goes wrong with large numbers.
EPOCH_NS = 1_790_000_000_000_000_000
PINNED_BYTES_PER_MS = 50_000_000


def ns(ms: float) -> int:
    """Milliseconds of the story as a length in ns."""
    return round(ms * MS)


class Row(NamedTuple):
    """One interval, before the rows are sorted."""

    kind: Kind
    name: str
    lane: Lane
    start_ns: int
    end_ns: int
    correlation: int = -1
    size_bytes: int = -1
    talk: tuple[str, str, int, int] | None = None  #: operation, group, group_size, in_bytes


class Trace:
    """What one rank's profiler recorded. Every method adds something and returns the trace."""

    def __init__(
        self,
        *,
        rank: int | None = None,
        world: int | None = None,
        source: str = "trace.json",
        device: str | None = "NVIDIA H200",
        clock_ms: float = 0,
    ) -> None:
        self.rank, self.world, self.source, self.device = rank, world, source, device
        self.zero_ns = EPOCH_NS + ns(clock_ms)
        self.rows: list[Row] = []
        self.joined = 0
        self.whole = True
        self.notes: tuple[str, ...] = ()
        self.set_aside: dict[str, int] = {}

    def add(
        self,
        kind: Kind,
        name: str,
        lane: Lane,
        at: float,
        ms: float,
        *,
        correlation: int = -1,
        size_bytes: int = -1,
        talk: tuple[str, str, int, int] | None = None,
    ) -> Trace:
        """Any interval; what the other methods are made of."""
        start = self.zero_ns + ns(at)
        self.rows.append(Row(kind, name, lane, start, start + ns(ms), correlation, size_bytes, talk))
        return self

    # What the device does

    def kernel(self, at: float, ms: float, name: str = "gemm", *, stream: int = 7, cause: int = -1) -> Trace:
        """A kernel whose launch is not in the trace, unless `cause` is its correlation."""
        return self.add(Kind.KERNEL, name, on_stream(stream), at, ms, correlation=cause)

    def collective(
        self,
        at: float,
        ms: float,
        operation: str = "allreduce",
        *,
        group: str = "world",
        size: int = -1,
        stream: int = 20,
        told: bool = True,
    ) -> Trace:
        """A collective on the device; with `told=False` only its name says that it is one."""
        talk = (operation, group, size, 1 << 20) if told else None
        return self.add(Kind.KERNEL, f"ncclDevKernel_{operation}", on_stream(stream), at, ms, talk=talk)

    def transfer(
        self,
        direction: str,
        memory: str,
        at: float,
        ms: float,
        size_bytes: int = -1,
        *,
        stream: int = 7,
        cause: int = -1,
    ) -> Trace:
        """A copy as the device saw it; the call that asked for it is not in the trace."""
        ends = f"{memory} -> Device" if direction == "HtoD" else f"Device -> {memory}"
        name = f"Memcpy {direction} ({ends})"
        return self.add(Kind.COPY, name, on_stream(stream), at, ms, correlation=cause, size_bytes=size_bytes)

    # What the host does

    def call(self, name: str, at: float, ms: float, *, thread: str = "main", causes: int = -1) -> Trace:
        """A call of the device's API."""
        return self.add(Kind.CALL, name, on_thread(thread), at, ms, correlation=causes)

    def op(self, name: str, at: float, ms: float, *, thread: str = "main") -> Trace:
        """An operator of the framework."""
        return self.add(Kind.OPERATOR, name, on_thread(thread), at, ms)

    def range(self, name: str, at: float, ms: float, *, thread: str = "main") -> Trace:
        """An annotation."""
        return self.add(Kind.RANGE, name, on_thread(thread), at, ms)

    def python(self, name: str, at: float, ms: float, *, thread: str = "main") -> Trace:
        """A Python function."""
        return self.add(Kind.PYTHON, name, on_thread(thread), at, ms)

    def step(self, number: int, at: float, ms: float, *, thread: str = "main") -> Trace:
        """A marked step."""
        return self.add(Kind.STEP, f"ProfilerStep#{number}", on_thread(thread), at, ms)

    def profiler(self, name: str, at: float, ms: float) -> Trace:
        """The profiler at work."""
        return self.add(Kind.OVERHEAD, name, on_thread("main"), at, ms)

    def span(self, at: float, ms: float) -> Trace:
        """What the recorder says it covered."""
        return self.add(Kind.SPAN, "PyTorch Profiler (0)", Lane("other", "Spans"), at, ms)

    # What both do

    def launch(
        self,
        at: float,
        kernel_ms: float,
        *,
        runs_at: float | None = None,
        ms: float = 0.01,
        name: str = "gemm",
        stream: int = 7,
        thread: str = "main",
    ) -> Trace:
        """A launch and its kernel, which runs as soon as it is launched unless told otherwise."""
        self.joined += 1
        self.call("cudaLaunchKernel", at, ms, thread=thread, causes=self.joined)
        return self.kernel(at + ms if runs_at is None else runs_at, kernel_ms, name, stream=stream, cause=self.joined)

    def copy(
        self,
        direction: str,
        memory: str,
        at: float,
        ms: float,
        size_bytes: int | None = None,
        *,
        call_ms: float | None = None,
        stream: int = 7,
        thread: str = "main",
    ) -> Trace:
        """A copy and its call, which blocks as long as the copy lasts where the memory is pageable."""
        self.joined += 1
        size = round(ms * PINNED_BYTES_PER_MS) if size_bytes is None else size_bytes
        blocks = ms if memory == "Pageable" else 0.01
        self.call("cudaMemcpyAsync", at, blocks if call_ms is None else call_ms, thread=thread, causes=self.joined)
        return self.transfer(direction, memory, at, ms, size, stream=stream, cause=self.joined)

    def sync(self, at: float, ms: float, name: str = "cudaDeviceSynchronize", *, thread: str = "main") -> Trace:
        """A wait for the device."""
        return self.call(name, at, ms, thread=thread)

    def breaks_off(self) -> Trace:
        """The file ends in the middle."""
        self.whole = False
        return self

    def build(self) -> Timeline:
        """The columns, sorted by start."""
        rows = sorted(self.rows, key=lambda row: row.start_ns)
        names: dict[str, int] = {}
        lanes: dict[Lane, int] = {}

        def number(word: str) -> int:
            return names.setdefault(word, len(names))

        talks = [(i, row.talk) for i, row in enumerate(rows) if row.talk]
        name = np.array([number(row.name) for row in rows], np.int32)
        known = Collectives(
            row=np.array([i for i, _ in talks], np.int64),
            operation=np.array([number(talk[0]) for _, talk in talks], np.int32),
            group=np.array([number(talk[1]) for _, talk in talks], np.int32),
            group_size=np.array([talk[2] for _, talk in talks], np.int32),
            in_bytes=np.array([talk[3] for _, talk in talks], np.int64),
            out_bytes=np.array([talk[3] for _, talk in talks], np.int64),
        )
        return Timeline(
            source=self.source,
            start_ns=np.array([row.start_ns for row in rows], np.int64),
            end_ns=np.array([row.end_ns for row in rows], np.int64),
            name=name,
            lane=np.array([lanes.setdefault(row.lane, len(lanes)) for row in rows], np.int32),
            kind=np.array([row.kind for row in rows], np.uint8),
            correlation=np.array([row.correlation for row in rows], np.int64),
            size_bytes=np.array([row.size_bytes for row in rows], np.int64),
            names=tuple(names),
            lanes=tuple(lanes),
            collectives=known,
            rank=self.rank,
            world_size=self.world,
            devices=(self.device,) if self.device else (),
            set_aside=self.set_aside,
            whole=self.whole,
            notes=self.notes,
        )


def on_stream(stream: int) -> Lane:
    """A stream of the only device."""
    return Lane("stream", f"GPU 0 stream {stream}", device=0, stream=stream)


def on_thread(thread: str) -> Lane:
    """A thread of the only process."""
    return Lane("thread", thread, pid=1, tid=sum(thread.encode()))


def judged(*traces: Trace, bare_step_ms: float | None = None) -> Verdict:
    """The verdict, which keeps the rules of the house."""
    bare = None if bare_step_ms is None else ns(bare_step_ms)
    verdict = why([trace.build() for trace in traces], bare_step_ns=bare)
    verdict.check()
    return verdict


def charged(verdict: Verdict) -> dict[str, float]:
    """What each cause was charged with, ms."""
    return {share.cause: share.amount / MS for share in verdict.shares if share.amount}


def removable(verdict: Verdict) -> dict[str, float]:
    """What would go with each cause, ms."""
    return {share.cause: share.removable / MS for share in verdict.shares if share.removable}


def told(verdict: Verdict, what: str) -> list[Evidence]:
    """The evidence under one word."""
    return [evidence for evidence in verdict.evidence if evidence.what == what]


def every(ms: float, count: int, begin: float = 0) -> Iterator[float]:
    """The times at which something happens that comes back."""
    return (begin + i * ms for i in range(count))
