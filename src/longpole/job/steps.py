"""Find the steps of a job: marked ones, or what its framework repeats once a step.

A step is the time from one mark to the next on the thread that feeds the device. A job that marks nothing and repeats
nothing has no steps, and its verdict says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longpole.job.activities import Calls, named
from longpole.timeline.columns import I64, Kind, Timeline, partners
from longpole.timeline.intervals import distinct

#: What repeats once a step, the surest first: what a name must match to end a step.
_ENDS = (
    r"^Optimizer\.step#",
    r"(?i)run_training_batch|^training_step\b|^#+ ?(training|train)_?step ?#+"
    r"|^execute_(new|context|model)|^(train|decode)_?step\b",
    r"^enumerate\(DataLoader\)|DataLoader.*__next__",
    r"optim/\w+\.py\(\d+\): step$",
)


@dataclass(frozen=True)
class Steps:
    """Where each step begins and ends (int64 ns, contiguous or marked), and what told them apart."""

    start_ns: I64
    end_ns: I64
    told_by: str

    def __len__(self) -> int:
        return len(self.start_ns)


NO_STEPS = Steps(np.empty(0, np.int64), np.empty(0, np.int64), "")


def steps_of(timeline: Timeline) -> Steps:
    """The steps of a trace: those that are marked, else from the end of one repeated range to the end of the next.

    One mark around everything is no step; then what repeats inside it tells.
    """
    marked = _marked(timeline)
    if len(marked) > 1:
        return marked
    repeated = _repeated(timeline)
    return repeated if len(repeated) > 1 else marked


def paced(timeline: Timeline, steps: Steps, calls: Calls, work: I64, end_ns: int) -> Steps:
    """The steps by when they were done: the device's last work that each launched, where the host runs ahead of it.

    A host that runs ahead marks short steps, and then a long one where the queue is full; no step of the job was long.
    What follows the last mark (a save, the queue) belongs to the last step.
    """
    if not len(steps):
        return steps
    done = steps.end_ns.copy()
    cause = partners(timeline.correlation[calls.row], timeline.correlation[work])
    sent, came = calls.row[cause[cause >= 0]], work[cause >= 0]
    step = np.searchsorted(steps.end_ns, timeline.start_ns[sent], "right")
    inside = step < len(steps)
    np.maximum.at(done, step[inside], timeline.end_ns[came[inside]])
    done[-1] = max(int(done[-1]), end_ns)
    done = np.maximum.accumulate(done)
    begin = np.maximum(steps.start_ns, np.append(steps.start_ns[:1], done[:-1]))
    if np.count_nonzero(done <= begin) > len(steps) // 4:  # work that outlasts many steps tells none of them apart
        return steps
    return Steps(begin, done, steps.told_by)


def marks_of(timeline: Timeline) -> tuple[int, int] | None:
    """From the start of the first marked step to the end of the last, in ns; None where no step is marked."""
    marked = _marked(timeline)
    return (int(marked.start_ns.min()), int(marked.end_ns.max())) if len(marked) else None


def _marked(timeline: Timeline) -> Steps:
    """Marked steps of one thread; a thread that repeats another's marks (autograd's, a worker's) is not counted again."""
    rows = timeline.rows(Kind.STEP)
    if not len(rows):
        return NO_STEPS
    mine = rows[timeline.lane[rows] == np.bincount(timeline.lane[rows]).argmax()]
    return Steps(timeline.start_ns[mine], timeline.end_ns[mine], "marked steps")


def _repeated(timeline: Timeline) -> Steps:
    told = timeline.rows(Kind.RANGE, Kind.OPERATOR, Kind.PYTHON)
    for pattern in _ENDS:
        found = named(timeline, told, pattern)
        if len(found) < 2:
            continue
        mine = found[timeline.lane[found] == np.bincount(timeline.lane[found]).argmax()]
        end = distinct(timeline.end_ns[mine])
        if len(end) < 2:
            continue
        begin = timeline.start_ns[timeline.kind != Kind.SPAN].min()
        return Steps(np.append(begin, end[:-1]), end, timeline.names[timeline.name[mine[0]]])
    return NO_STEPS
