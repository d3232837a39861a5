"""A small trace as torch.profiler writes it, and ways to write it down: what the reader's tests are made from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longpole import sources
from longpole.timeline.columns import Timeline

#: 2026-10-01, a quarter of a year as Kineto's base times are.
BASE_NS = 1_790_857_026_000_000_000


class SmallTrace:
    """Three steps of a training job on one GPU; `events` may be changed before it is written."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.head: dict[str, Any] = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85_000_000_000}],
            "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        }
        self.tail: dict[str, Any] = {"traceName": "/tmp/trace.json", "baseTimeNanoseconds": BASE_NS}
        for step in range(3):
            self._step(step, 5_220_502_643_362.251 + 1000 * step)
        for name, pid, tid, label in (
            ("process_name", 100, 0, "python"),
            ("thread_name", 100, 101, "thread 101 (python)"),
            ("thread_name", 0, 7, "stream 7 "),
        ):
            self.events.append({"name": name, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": {"name": label}})
        span = self.interval("Trace", "PyTorch Profiler (0)", 5_220_502_643_362.0, 3000, pid="Spans")
        self.events.append({**span, "tid": "PyTorch Profiler", "args": {"Op count": 0}})
        self.events.append({"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 1.0})

    @staticmethod
    def interval(cat: str, name: str, ts: Any, dur: Any, pid: Any = 100, tid: Any = 101, **args: Any) -> dict[str, Any]:
        """One complete event."""
        said = {
            key.replace("_", " ") if key.startswith(("Coll", "Proc", "Group", "In", "Out")) else key: value
            for key, value in args.items()
        }
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": said}

    def _step(self, step: int, at: float) -> None:
        launch, copy = 2 * step + 1, 2 * step + 2
        on_gpu: dict[str, Any] = {"pid": 0, "tid": 7, "device": 0, "stream": 7}
        self.events += [
            self.interval("user_annotation", f"ProfilerStep#{step}", at, 900.5),
            self.interval("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 1, 99),
            self.interval("python_function", "train.py(12): step", at + 2, 700),
            self.interval("cpu_op", "aten::mm", round(at + 200.125, 3), 50.25),
            self.interval("cuda_runtime", "cudaLaunchKernel", at + 210, 5, cbid=211, correlation=launch),
            {"ph": "s", "id": launch, "pid": 100, "tid": 101, "ts": at + 210, "cat": "ac2g", "name": "ac2g"},
            self.interval("kernel", "void gemm<{lambda()#1}>(int)", at + 300, 400.125, **on_gpu, correlation=launch),
            {"ph": "f", "id": launch, "pid": 0, "tid": 7, "ts": at + 300, "cat": "ac2g", "name": "ac2g", "bp": "e"},
            self.interval("cuda_runtime", "cudaMemcpyAsync", at + 220, 9, cbid=41, correlation=copy),
            self.interval(
                "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 705, 20, **on_gpu, correlation=copy, bytes=4096
            ),
            self.interval("cpu_instant_event", "[memory]", at, 0) | {"ph": "i"},
            self.interval("overhead", "Buffer Flush", at + 800, 1, pid=-1, tid=0),
        ]

    def document(self) -> dict[str, Any]:
        """The trace as the object that a file holds."""
        return {**self.head, "traceEvents": self.events, **self.tail}

    def text(self, indent: int | None = None) -> str:
        """The trace as JSON."""
        return json.dumps(self.document(), indent=indent)


@pytest.fixture
def small() -> SmallTrace:
    """A new small trace."""
    return SmallTrace()


@pytest.fixture
def read_text(tmp_path: Path) -> Callable[..., Timeline]:
    """Writes a text (or bytes, packed or not) to a file and reads that."""

    def read(text: str | bytes, name: str = "trace.json", pack: bool = False) -> Timeline:
        path = tmp_path / name
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        path.write_bytes(gzip.compress(data) if pack else data)
        return sources.read_one(path)

    return read


def rows(timeline: Timeline) -> list[tuple[Any, ...]]:
    """All that a timeline says of its intervals, as plain values."""
    lanes, names = timeline.lanes, timeline.names
    columns = (timeline.start_ns, timeline.end_ns, timeline.kind, timeline.correlation, timeline.size_bytes)
    return [
        (*(int(value) for value in row), names[name], lanes[lane])
        for *row, name, lane in zip(*columns, timeline.name, timeline.lane, strict=True)
    ]


@pytest.fixture
def rows_of() -> Callable[[Timeline], list[tuple[Any, ...]]]:
    """The rows of a timeline as plain values."""
    return rows


@pytest.fixture
def whole(small: SmallTrace, read_text: Callable[..., Timeline]) -> list[tuple[Any, ...]]:
    """The rows of the small trace as it is when nothing is broken."""
    timeline = read_text(small.text(), name="whole.json")
    assert timeline.set_aside == {} and timeline.notes == () and np.all(np.diff(timeline.start_ns) >= 0)
    return rows(timeline)
