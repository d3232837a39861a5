"""Which code the serial sections are: the stretches in which one host thread computes and the device is idle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from longpole import units
from longpole.job.attribution import Attribution
from longpole.timeline.columns import I64, Kind
from longpole.timeline.intervals import Spans
from longpole.verdict import Evidence

#: Sections looked at, the longest first; their code is looked up one by one.
MOST_SECTIONS = 200
#: How many of the rows begun before a section are looked at for the one that ended last.
NEARBY = 64
#: A place that holds less than this part of the window is not worth a line.
LEAST_SHARE = 0.01
#: A section shorter than this is noise.
LEAST_NS = 500_000


def section_facts(attribution: Attribution) -> Iterator[Evidence]:
    """The code in which most of the serial time was spent, at most three, or the gap it lies in."""
    for cause, what in (("serial", "serial_sections"), ("wait", "serial_sections"), ("disk", "serial_sections")):
        spans = attribution.spans(cause)
        if spans.total < 0.01 * attribution.window_ns:
            continue
        found = _by_code(attribution, spans)
        for where, (total, count, stacked) in sorted(found.items(), key=lambda item: -item[1][0])[:3]:
            if total < LEAST_SHARE * attribution.window_ns:
                continue
            yield Evidence(
                what=what,
                where=where,
                measured=total,
                unit="ns",
                status="slow" if stacked else "unknown",
                source=f"{attribution.timeline.file}, {count:,} stretches",
                detail=f"{cause}: {units.duration(total // count)} each, "
                f"{total / attribution.window_ns:.0%} of the window",
            )


def _by_code(attribution: Attribution, spans: Spans) -> dict[str, tuple[int, int, bool]]:
    """For each place: ns, how many sections, and whether a stack or a range names it."""
    length = spans.end - spans.start
    order = np.argsort(-length, kind="stable")[:MOST_SECTIONS]
    order = order[length[order] >= LEAST_NS]
    rows, timeline = _telling_rows(attribution), attribution.timeline
    begins = timeline.start_ns[rows]
    long = rows[timeline.end_ns[rows] - timeline.start_ns[rows] >= LEAST_NS // 2]
    found: dict[str, tuple[int, int, bool]] = {}
    for i in order.tolist():
        where, told = _place(attribution, begins, rows, long, int(spans.start[i]), int(spans.end[i]))
        total, count, _ = found.get(where, (0, 0, told))
        found[where] = (total + int(length[i]), count + 1, told)
    return found


def _telling_rows(attribution: Attribution) -> I64:
    timeline = attribution.timeline
    rows = timeline.rows(Kind.RANGE, Kind.PYTHON, Kind.OPERATOR)
    return rows[attribution.host.feeding[timeline.lane[rows]]]


def _place(attribution: Attribution, begins: I64, rows: I64, long: I64, start: int, end: int) -> tuple[str, bool]:
    """The innermost frame, operator or range around a section; without one, what came before and after it.

    `rows` are all that may be named (`begins` their starts), `long` those that are long enough to be around one.
    """
    timeline = attribution.timeline
    slack = (end - start) // 10
    around = long[: np.searchsorted(timeline.start_ns[long], start + slack, "right")]
    open_ = around[timeline.end_ns[around] >= end - slack]
    own = open_[[not timeline.names[n].startswith("<built-in") for n in timeline.name[open_].tolist()]]
    open_ = own if len(own) else open_
    if len(open_):
        inner = open_[np.argmin(timeline.end_ns[open_] - timeline.start_ns[open_])]
        return timeline.names[timeline.name[inner]], True
    begun = rows[: np.searchsorted(begins, start + slack, "right")][-NEARBY:]
    after = rows[np.searchsorted(begins, end - slack, "left") :][:1]
    first = timeline.names[timeline.name[begun[np.argmax(timeline.end_ns[begun])]]] if len(begun) else "the start"
    last = timeline.names[timeline.name[after[0]]] if len(after) else "the end"
    return f"between {first} and {last}", False
