"""How fast copies went, by direction and by what kind of host memory they used, against the link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from longpole import limits, units
from longpole.job.attribution import Attribution
from longpole.timeline.columns import I64, Kind
from longpole.timeline.intervals import intersect, join, union
from longpole.verdict import Evidence, Status

#: "Memcpy HtoD (Pageable -> Device)": the direction and both kinds of memory.
_NAME = r"(?P<direction>[HDP]to[HDP])(?: \((?P<source>\w+) -> (?P<target>\w+)\))?"
#: Copies smaller than this on average are bound by latency, and no rate of theirs says anything of the link.
LARGE_BYTES = 1 << 20
#: A copy under this part of the link's rate is slow.
NEAR = 0.7


class Way(NamedTuple):
    """A kind of copy: the evidence word it goes under, and how it is called."""

    what: str
    direction: str
    label: str


def way_of(name: str) -> Way:
    """What a copy's canonical name says of it; host memory that is not named is neither pageable nor pinned."""
    found = re.search(_NAME, name)
    if found is None:
        return Way("device_copies", "", name)
    direction, ends = found["direction"], (found["source"] or "", found["target"] or "")
    labels = {
        "HtoD": "host to device",
        "DtoH": "device to host",
        "DtoD": "within the device",
        "PtoP": "device to device",
    }
    label = labels.get(direction, direction)
    if direction not in ("HtoD", "DtoH"):
        return Way("peer_copies" if direction == "PtoP" else "device_copies", direction, label)
    if "Pageable" in ends:
        return Way("pageable_copies", direction, f"{label}, pageable")
    if "Pinned" in ends:
        return Way("pinned_copies", direction, f"{label}, pinned")
    return Way("pinned_copies", direction, f"{label}, host memory of unknown kind")


def copy_facts(attribution: Attribution) -> Iterator[Evidence]:
    """One fact for each kind of copy that moved anything."""
    timeline = attribution.timeline
    rows = timeline.rows(Kind.COPY)
    used = set(timeline.name[rows].tolist())
    ways = [way_of(name) if i in used else None for i, name in enumerate(timeline.names)]
    for way in sorted({w for w in ways if w is not None}):
        names = np.array([w == way for w in ways])
        yield from _fact_of(attribution, way, rows[names[timeline.name[rows]]])


def _fact_of(attribution: Attribution, way: Way, rows: I64) -> Iterator[Evidence]:
    timeline = attribution.timeline
    sized = rows[timeline.size_bytes[rows] >= 0]
    size = int(timeline.size_bytes[sized].sum())
    busy = int((timeline.end_ns[sized] - timeline.start_ns[sized]).sum())
    shown = sized if len(sized) else rows
    ours = union(timeline.start_ns[shown], timeline.end_ns[shown])
    felt = intersect(ours, join([attribution.spans("copy"), attribution.spans("checkpoint")])).total
    rate = size / busy * 1e9 if size and busy else None
    limit = link_rate(attribution) if way.direction in ("HtoD", "DtoH") else None
    large = size >= LARGE_BYTES * max(len(sized), 1)
    slow = felt > 0.05 * attribution.window_ns
    far = rate is not None and limit is not None and large and felt > 0 and rate < NEAR * limit
    status: Status = "unknown" if rate is None and slow else "slow" if slow or far else "ok"
    yield Evidence(
        what=way.what,
        where=way.label,
        measured=rate,
        limit=limit if large else None,
        unit="B/s",
        status=status,
        source=f"{timeline.file}, {len(rows):,} copies",
        detail=f"{units.size(size)} in {units.duration(busy)}, {units.duration(felt)} of it exposed"
        + ("" if large or not size else f"; {units.size(size // max(len(sized), 1))} each: too small to fill the link"),
    )


def link_rate(attribution: Attribution) -> float | None:
    """What a pinned copy between host and device reaches on this part, B/s; None for a part that is not known."""
    part = part_of(attribution)
    limit = part.host_link_bytes_per_s if part else None
    return limit.value if limit else None


def part_of(attribution: Attribution) -> limits.Part | None:
    """The part that the rank ran on; None where it is not known, or where the trace names several kinds."""
    names = {name for name in attribution.timeline.devices if name}
    return limits.part(names.pop()) if len(names) == 1 else None
