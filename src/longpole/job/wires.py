"""How fast collectives went over the wire between GPUs, by the bytes that each rank's link must carry."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from longpole import units
from longpole.job.attribution import Attribution
from longpole.job.copies import part_of
from longpole.job.ranks import Waits
from longpole.timeline.intervals import overlap
from longpole.verdict import Evidence

#: Smaller collectives are bound by latency, and their rate says nothing of the links.
LARGE_BYTES = 1 << 20
#: Under this part of what the links promise, they are not what bounds a collective of this size.
NEAR = 0.5
#: How often each byte that a rank hands in (or gets, for an all-gather) passes its links, times n / (n - 1) for n
#: ranks: NCCL's "bus bandwidth" counts so.
_PASSES = {"allreduce": 2, "reducescatter": 1, "alltoall": 1, "allgather": 1}


def wire_facts(attribution: Attribution, waits: Waits) -> Iterator[Evidence]:
    """The rate of the large collectives whose bytes and ranks are known: bytes on the links over the wire's time."""
    timeline, known = attribution.timeline, attribution.timeline.collectives
    carried = np.zeros(len(known.row))
    for i, operation in enumerate(known.operation.tolist()):
        word = re.sub(r"^_|[_\W]|base$", "", timeline.names[operation].lower()) if operation >= 0 else ""
        passes = next((n for name, n in _PASSES.items() if name in word), 0)
        size = int((known.out_bytes if "allgather" in word else known.in_bytes)[i])
        ranks = int(known.group_size[i])
        if size >= LARGE_BYTES and ranks > 1:
            carried[i] = passes * size * (ranks - 1) / ranks
    large = carried > 0
    if not large.any():
        return
    start, end = timeline.start_ns[known.row[large]], timeline.end_ns[known.row[large]]
    wired = overlap(waits.wire, start, end)
    busy = int(np.where(wired > 0, wired, end - start).sum())
    rate, limit = carried[large].sum() / max(busy, 1) * 1e9, _promised(attribution)
    split = "after the last rank came" if wired.any() else "waiting for late ranks included"
    yield Evidence(
        what="collective_rate",
        where=f"{int(large.sum()):,} large collectives",
        measured=float(rate),
        limit=limit,
        unit="B/s",
        status="slow" if limit and rate < NEAR * limit else "ok",
        source=f"{timeline.file}, bytes and ranks of {int(large.sum()):,} kernels",
        detail=f"{units.size(int(carried[large].sum()))} carried in {units.duration(busy)}, {split}",
    )


def _promised(attribution: Attribution) -> float | None:
    """What all links of this part to other GPUs promise together in one direction, B/s."""
    part = part_of(attribution)
    limit = part.device_link_bytes_per_s if part else None
    return limit.value if limit else None
