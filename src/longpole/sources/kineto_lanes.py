"""Lanes of a Kineto trace: the pids, tids, devices and streams of its events, as `Lane`s."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from longpole.sources.kineto_events import integer
from longpole.timeline.columns import I32, Kind, Lane

_NONE = -(2**63)
_NUMBER = re.compile(r"\d+$")
#: The first profiler of PyTorch gave no categories: what ran where, it told by the name of the process.
_DEVICE_FUNCTIONS = re.compile(r"^(CUDA|HIP|XPU|GPU|device) functions$", re.IGNORECASE)
_HOST_FUNCTIONS = re.compile(r"^CPU functions$", re.IGNORECASE)
#: What CUPTI gives for "no stream": a synchronisation of the whole context.
_NO_STREAM = (-1, 2**32 - 1)

Labels = Mapping[tuple[str, Hashable, Hashable], str]


def compact(
    lane: I32, threads: list[Any], streams: list[Any], labels: Labels
) -> tuple[I32, tuple[Lane, ...], dict[int, Kind]]:
    """The lanes that rows use, and each row's index into them.

    `lane` is 2 i for threads[i] and 2 i + 1 for streams[i]. The last part gives the kind of rows without a category
    on lanes that tell it by their process's name.
    """
    used = np.flatnonzero(np.bincount(lane))
    index: dict[Lane, int] = {}
    renumbered = np.zeros(int(used[-1]) + 1, np.int32)
    told: dict[int, Kind] = {}
    for old in used.tolist():
        pid, tid = (streams if old % 2 else threads)[old // 2]
        if old % 2:
            place = _stream(pid, tid)
        elif isinstance(pid, str) and _DEVICE_FUNCTIONS.match(pid):
            place = _stream(tid, None)
            told[index.setdefault(place, len(index))] = Kind.KERNEL
        else:
            place = _thread(pid, tid, labels)
            if isinstance(pid, str) and _HOST_FUNCTIONS.match(pid):
                told[index.setdefault(place, len(index))] = Kind.OPERATOR
        renumbered[old] = index.setdefault(place, len(index))
    return renumbered[lane], tuple(index), told


def _stream(device: Any, stream: Any) -> Lane:
    device, stream = _number(device), _number(stream)
    where = "GPU" if device is None else f"GPU {device}"
    if stream is None or stream in _NO_STREAM:
        return Lane("other" if stream in _NO_STREAM else "stream", where, device=device)
    return Lane("stream", f"{where} stream {stream}", device=device, stream=stream)


def _thread(pid: Any, tid: Any, labels: Labels) -> Lane:
    label = labels.get(("thread_name", pid, tid)) or ""
    pid_number, tid_number = _number(pid), _number(tid)
    if pid_number is None and isinstance(pid, str):
        # A word in place of a process: "Spans", "CPU functions".
        kind = "thread" if tid_number is not None else "other"
        return Lane(
            kind, label or " ".join(str(word) for word in (pid, tid) if word not in (None, "")), None, tid_number
        )
    if pid_number is not None and pid_number < 0:
        return Lane("other", labels.get(("process_name", pid, None)) or "profiler", pid_number, tid_number)
    return Lane("thread", label or f"thread {tid if tid is not None else '?'}", pid_number, tid_number)


def _number(word: Any) -> int | None:
    """The number that a pid, tid, device or stream is, or ends in ("stream 7"); None where there is none."""
    number = integer(word, _NONE)
    if number != _NONE:
        return number
    found = _NUMBER.search(word) if isinstance(word, str) else None
    return integer(found[0], _NONE) if found and len(found[0]) < 19 else None
