"""The tables of a job's verdict: its steps, its kernels, its ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from longpole.job.attribution import Attribution
from longpole.job.ranks import Meeting
from longpole.timeline.columns import Kind
from longpole.timeline.intervals import Spans, distinct, overlap
from longpole.verdict import Cell, Column, Table, Verdict

#: The longest steps are always kept; of more than this many, the others are thinned out evenly.
MOST_STEPS = 1000
MOST_KERNELS = 20
#: A cause gets a column in the table of steps if it was charged with this part of the window.
COLUMN_SHARE = 0.001


def of_steps(attribution: Attribution, charged: Mapping[str, Spans]) -> dict[str, Table]:
    """One row a step: number, start since the window's, duration, and what of it each cause was charged with, ns."""
    steps = attribution.steps
    if not len(steps):
        return {}
    length = steps.end_ns - steps.start_ns
    kept = np.arange(len(steps))
    if len(steps) > MOST_STEPS:
        worst = np.argsort(-length, kind="stable")[: MOST_STEPS // 2]
        spread = np.linspace(0, len(steps) - 1, MOST_STEPS // 2).astype(np.int64)
        kept = distinct(np.concatenate((worst, spread)))
    causes = [c for c, s in charged.items() if s.total >= COLUMN_SHARE * attribution.window_ns]
    parts = [overlap(charged[c], steps.start_ns[kept], steps.end_ns[kept]).tolist() for c in causes]
    head = zip(
        kept.tolist(), (steps.start_ns[kept] - attribution.start_ns).tolist(), length[kept].tolist(), strict=True
    )
    rows = tuple((*first, *rest) for first, rest in zip(head, zip(*parts, strict=True), strict=True))
    columns = (Column("step"), Column("start", "ns"), Column("duration", "ns"), *(Column(c, "ns") for c in causes))
    return {"steps": Table(columns, rows)}


def of_kernels(attribution: Attribution) -> dict[str, Table]:
    """The kernels that ran longest in sum: name, how often, ns in all, and the longest run of one."""
    timeline = attribution.timeline
    rows = timeline.rows(Kind.KERNEL)
    if not len(rows):
        return {}
    length = timeline.end_ns[rows] - timeline.start_ns[rows]
    name = timeline.name[rows]
    count = np.bincount(name, minlength=len(timeline.names))
    total = timeline.by_name(rows, length)
    longest = np.zeros(len(timeline.names), np.int64)
    np.maximum.at(longest, name, length)
    top = [i for i in np.argsort(-total, kind="stable")[:MOST_KERNELS].tolist() if count[i]]
    table = tuple((timeline.names[i], int(count[i]), int(total[i]), int(longest[i])) for i in top)
    return {
        "kernels": Table((Column("kernel"), Column("count"), Column("total", "ns"), Column("longest", "ns")), table)
    }


def of_ranks(attributions: Sequence[Attribution], meeting: Meeting, parts: Sequence[Verdict]) -> dict[str, Table]:
    """One row a rank: window, what binds it, how long it waited and kept others waiting, its clock's offset (ns)."""
    rows: list[tuple[Cell, ...]] = []
    for attribution, waits, clock, part in zip(attributions, meeting.waits, meeting.clocks, parts, strict=True):
        rows.append(
            (
                attribution.timeline.rank,
                attribution.window_ns,
                part.binding,
                part.share("network.imbalance").amount,
                waits.late_ns,
                waits.last_in,
                clock.offset_ns,
            )
        )
    columns = (
        Column("rank"),
        Column("window", "ns"),
        Column("binding"),
        Column("waiting", "ns"),
        Column("kept_waiting", "ns"),
        Column("last_in"),
        Column("clock_offset", "ns"),
    )
    return {"ranks": Table(columns, tuple(rows))}
