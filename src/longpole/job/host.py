"""What the threads that feed the device were doing, as sets of time.

A thread feeds the device if it hands it work (the main thread, autograd's thread for the backward pass); loader
workers and watchdogs do not. What a trace does not carry (file writes, plain Python without stacks) leaves gaps, and
a gap is only given a name where something says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longpole.job import activities
from longpole.job.activities import Call, Calls
from longpole.timeline.columns import I64, Kind, Timeline, partners
from longpole.timeline.intervals import NONE, Spans, among, intersect, join, subtract, union

#: Marks of one thread closer than this belong to one run of dispatching; anything from 0.1 to 5 ms gives the same
#: binding causes on traces with a planted cause.
QUIET_NS = 1_000_000
#: Operators that go on longer than this without handing anything to the device are no dispatching: they compute on the
#: host (preparing a batch, metrics).
HANDING_NS = 5_000_000
#: A launch that takes longer waits: for room in the queue while the device is busy, for code to load while it is not.
SLOW_LAUNCH_NS = 200_000
#: A call that takes longer, while the device is idle, is doing something once: a context, a module, a handle.
ONE_OFF_NS = 1_000_000
#: The slowest that a host was seen to stage a pageable copy, page faults and all, is twice as fast as this.
STAGING_BYTES_PER_S = 500_000_000
#: Less than this share of the launches does not make a thread a feeding one.
FEEDING_SHARE = 0.01


class Host(NamedTuple):
    """Sets of time of the feeding threads; each is what its name says, whatever the device did meanwhile.

    `feeding` flags their lanes, `calls` are what they called of the device's API.

    `blocked` is the time in which some feeding thread waits for the device and none of them is at work.
    `elsewhere` is when a feeding thread was held up (by the loader, a save, an allocation, a compiler) while another
    was at work: time that would not go if the hold-up went.
    """

    feeding: NDArray[np.bool_]
    calls: Calls
    input: Spans
    saving: Spans
    collective: Spans
    startup: Spans
    starting: Spans
    alloc: Spans
    compile: Spans
    copying: Spans
    staging: Spans
    syncing: Spans
    waiting: Spans
    filing: Spans
    looking: Spans
    talking: Spans
    dispatch: Spans
    computing: Spans
    elsewhere: Spans
    alive: Spans
    blocked: Spans
    overhead: Spans


def spans_of(timeline: Timeline, rows: I64) -> Spans:
    """The union of some rows."""
    return union(timeline.start_ns[rows], timeline.end_ns[rows])


def feeding_lanes(timeline: Timeline, calls: Calls) -> NDArray[np.bool_]:
    """One flag a lane: whether its thread hands work to the device; on a CPU job, whether it runs operators."""
    rows = calls.of(Call.LAUNCH, Call.GRAPH, Call.COPY)
    if not len(rows):
        rows = timeline.rows(Kind.OPERATOR)
    if not len(rows):
        rows = timeline.rows(Kind.CALL, Kind.RANGE, Kind.PYTHON)
    count = np.bincount(timeline.lane[rows], minlength=len(timeline.lanes))
    feeding: NDArray[np.bool_] = (count > 0) & (count >= FEEDING_SHARE * len(rows))
    feeding[timeline.lane[timeline.rows(Kind.STEP)]] = True
    return feeding


def observe(timeline: Timeline, all_calls: Calls, device_busy: Spans, first_device_ns: int) -> Host:
    """Read the feeding threads; `device_busy` and the time of the first device work tell one-off calls apart."""
    feeding = feeding_lanes(timeline, all_calls)
    on_feeding = feeding[timeline.lane]
    theirs = on_feeding[all_calls.row]
    calls = Calls(all_calls.row[theirs], all_calls.kind[theirs])

    def rows(*kinds: Kind) -> I64:
        found = timeline.rows(*kinds)
        return found[on_feeding[found]]

    told, python = rows(Kind.RANGE, Kind.OPERATOR, Kind.PYTHON), rows(Kind.PYTHON)
    once = _one_off(timeline, calls, first_device_ns)
    marks = rows(Kind.CALL, Kind.OPERATOR)
    instants = _instants(timeline, marks)
    work = {
        lane: _runs(_instants(timeline, marks[timeline.lane[marks] == lane]))
        for lane in np.flatnonzero(feeding).tolist()
    }
    overhead = timeline.rows(Kind.OVERHEAD)
    loading = activities.named(timeline, overhead, activities.LOADING)
    held = [activities.named(timeline, told, p) for p in (activities.LOADER, activities.SAVER, activities.COMPILER)]

    def spans(rows_: I64) -> Spans:
        return spans_of(timeline, rows_)

    measuring = spans(overhead[~among(overhead, loading)])

    def framed(pattern: str) -> Spans:
        return spans(activities.named(timeline, python, pattern))

    def called(*wanted: Call) -> I64:
        return calls.row[calls.are(*wanted) & ~once]

    return Host(
        feeding=feeding,
        calls=calls,
        input=spans(held[0]),
        saving=spans(held[1]),
        collective=_host_collectives(timeline, cpu_only=not len(device_busy.start)),
        startup=join([spans(calls.row[once]), spans(loading)]),
        starting=_starting(timeline, calls.row[once], instants, first_device_ns),
        alloc=spans(called(Call.ALLOC)),
        compile=join([spans(held[2]), spans(called(Call.LOAD))]),
        copying=spans(called(Call.COPY)),
        staging=_staging(timeline, called(Call.COPY)),
        syncing=spans(called(Call.SYNC)),
        waiting=framed(activities.WAITER),
        filing=framed(activities.FILER),
        looking=framed(activities.LOOKER),
        talking=framed(activities.TALKER),
        dispatch=join([_dispatch(timeline, instants, calls), spans(calls.of(Call.LAUNCH))]),
        computing=_computing(timeline, rows(Kind.OPERATOR)) if not len(device_busy.start) else NONE,
        elsewhere=_elsewhere(timeline, np.concatenate([*held, called(Call.ALLOC, Call.LOAD)]), work),
        alive=spans(rows(Kind.CALL, Kind.OPERATOR, Kind.RANGE, Kind.PYTHON)),
        blocked=_blocked(timeline, calls, work, instants[-1:], device_busy),
        overhead=join([measuring, framed(activities.PROFILER), _traced_graphs(timeline, calls.of(Call.GRAPH))]),
    )


def _one_off(timeline: Timeline, calls: Calls, first_device_ns: int) -> NDArray[np.bool_]:
    """Which calls set something up: long ones before any device work, and long ones that are rare among their like.

    A first cudaFree creates the context, a first launch loads the module; neither comes back. A cudaFree that is slow
    every time it is called is no set-up, it is how the job frees memory.
    """
    length = timeline.end_ns[calls.row] - timeline.start_ns[calls.row]
    setup = ~calls.are(Call.SYNC, Call.COPY, Call.GRAPH) & (length > ONE_OFF_NS)
    ours = _of_driver(timeline, calls)
    early = (timeline.start_ns[calls.row] < first_device_ns) & ours
    out: NDArray[np.bool_] = setup & (early | calls.are(Call.LAUNCH) | (calls.are(Call.OTHER) & ours))
    for name in set(timeline.name[calls.row[setup & ~out]].tolist()):
        like = timeline.name[calls.row] == name
        usual = float(np.median(length[like]))
        out |= setup & like & (length > 10 * ONE_OFF_NS) & (length > 100 * usual)
    return out


def _of_driver(timeline: Timeline, calls: Calls) -> NDArray[np.bool_]:
    """One flag a call: whether it is CUDA's or HIP's; a runtime that serves requests has calls that set nothing up."""
    ours = np.zeros(len(timeline.names), bool)
    ours[timeline.name[activities.named(timeline, calls.row, r"^(cuda|cu|hip)[A-Z]")]] = True
    return np.asarray(ours[timeline.name[calls.row]])


def _traced_graphs(timeline: Timeline, graphs: I64) -> Spans:
    """Graph launches that take long because the profiler records every kernel of the graph one by one.

    On an H200 a replay of 3,000 kernels takes 4 to 6 ms to hand over under the profiler and 0.01 ms without it.
    """
    length = timeline.end_ns[graphs] - timeline.start_ns[graphs]
    return spans_of(timeline, graphs[length > SLOW_LAUNCH_NS])


def _starting(timeline: Timeline, once: I64, instants: I64, first_device_ns: int) -> Spans:
    """Silence that belongs to setting up: before a one-off call; all before the device's first work if early.

    Libraries are opened and code is read from disk before the call that uses it is entered, where no event shows it.
    """
    if not len(once):
        return NONE
    begin = timeline.start_ns[once]
    before = instants[np.maximum(np.searchsorted(instants, begin, "left") - 1, 0)]
    early = begin.min() < first_device_ns
    whole = union(instants[:1], np.array([first_device_ns])) if early else NONE
    return join([union(before, begin), whole])


def _host_collectives(timeline: Timeline, *, cpu_only: bool) -> Spans:
    """Collectives that run on the CPU. On a GPU job, c10d's own operators only hand the collective over."""
    pattern = activities.HOST_COLLECTIVE if cpu_only else activities.HOST_BACKEND
    return spans_of(timeline, activities.named(timeline, timeline.rows(Kind.RANGE, Kind.OPERATOR), pattern))


def _staging(timeline: Timeline, copies: I64) -> Spans:
    """Copy calls in which the host moves pageable memory through a staging buffer: they take about as long as their
    copy, or as long as that many bytes take a host that faults its pages in.
    """
    moved = timeline.rows(Kind.COPY)
    own = partners(timeline.correlation[moved], timeline.correlation[copies])
    copies, own = copies[own >= 0], moved[own[own >= 0]]
    lasts = 2 * (timeline.end_ns[own] - timeline.start_ns[own])
    staged = timeline.size_bytes[own] * 1_000_000_000 // STAGING_BYTES_PER_S
    took = timeline.end_ns[copies] - timeline.start_ns[copies]
    return spans_of(timeline, copies[took <= np.maximum(lasts, staged)])


def _instants(timeline: Timeline, rows: I64) -> I64:
    """When the rows begin and end, ascending."""
    return np.sort(np.concatenate((timeline.start_ns[rows], timeline.end_ns[rows])), kind="stable")


def _dispatch(timeline: Timeline, instants: I64, calls: Calls) -> Spans:
    """When the host goes from operator to operator and hands work to the device every few milliseconds."""
    handed = calls.row[~calls.are(Call.OTHER)]
    if not len(handed):
        return _runs(instants)
    near = _runs(_instants(timeline, handed), HANDING_NS)
    return intersect(_runs(instants), union(near.start - QUIET_NS, near.end + QUIET_NS))


def _runs(instants: I64, most_ns: int = QUIET_NS) -> Spans:
    """The time in which instants follow each other without a longer gap than this."""
    if not len(instants):
        return NONE
    quiet = np.flatnonzero(np.diff(instants) > most_ns)
    return union(instants[np.append(0, quiet + 1)], instants[np.append(quiet, len(instants) - 1)])


def _computing(timeline: Timeline, operators: I64) -> Spans:
    """When a CPU job's operators are at work: all of them but the collectives, which only wait."""
    talk = activities.named(timeline, operators, activities.HOST_COLLECTIVE)
    return subtract(spans_of(timeline, operators[~among(operators, talk)]), spans_of(timeline, talk))


def _elsewhere(timeline: Timeline, held: I64, work: Mapping[int, Spans]) -> Spans:
    """When the rows that hold up their thread run beside another thread's work."""
    if len(work) < 2:
        return NONE
    return join(
        intersect(
            spans_of(timeline, held[timeline.lane[held] == lane]),
            join(spans for other, spans in work.items() if other != lane),
        )
        for lane in work
    )


def _blocked(timeline: Timeline, calls: Calls, work: Mapping[int, Spans], last: I64, device_busy: Spans) -> Spans:
    """When the host waits for the device: blocked in a call, or done with everything (its `last` instant is over), and
    no feeding thread at work.
    """
    length = timeline.end_ns[calls.row] - timeline.start_ns[calls.row]
    waits = calls.row[calls.are(Call.SYNC, Call.COPY, Call.ALLOC) | (length > SLOW_LAUNCH_NS)]
    blocked, busy = [], []
    for lane, runs in work.items():
        waiting = spans_of(timeline, waits[timeline.lane[waits] == lane])
        blocked.append(waiting)
        busy.append(subtract(runs, waiting))
    if len(last) and len(device_busy.end):
        blocked.append(union(last, device_busy.end[-1:]))
    return intersect(subtract(join(blocked), join(busy)), device_busy)
