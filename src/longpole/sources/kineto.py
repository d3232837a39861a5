"""Traces in Kineto's JSON: those of torch.profiler, old and new, on NVIDIA's, AMD's and others' devices.

The same format, with less in it, is what Chrome's tracing and the tools that write for it use.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable

import numpy as np

from longpole.errors import UnreadableError
from longpole.sources.content import Content
from longpole.sources.json_events import JsonEvents
from longpole.sources.kineto_columns import Columns
from longpole.sources.kineto_envelope import Envelope, envelope, rank_in_name
from longpole.sources.kineto_events import EVENT
from longpole.sources.kineto_kinds import UNTOLD, copy_name, kind_of_device_name, kind_of_host_name
from longpole.sources.kineto_lanes import compact
from longpole.sources.kineto_sanity import overruns, zero_times
from longpole.sources.room import Room
from longpole.timeline.columns import I32, I64, U8, Collectives, Kind, Timeline, partners

NAME = "a PyTorch profiler (Kineto) or Chrome trace in JSON"

_KEYS = re.compile(
    rb'"(?:traceEvents|baseTimeNanoseconds|deviceProperties|computeProperties|distributedInfo|displayTimeUnit)"\s*:'
    rb'|"ph"\s*:\s*"'
)
#: Times from here on (September 2001 in µs) are Unix times already, whatever base the file gives.
_UNIX_NS = 10**18


def claims(head: bytes) -> bool:
    """Whether a file that begins with these bytes is such a trace."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return text[:1] in (b"{", b"[") and _KEYS.search(text) is not None


def read(content: Content) -> Timeline:
    """The timeline of one trace; `UnreadableError` where it holds no event that lasts."""
    stream, columns = JsonEvents(content, EVENT, "traceEvents"), Columns()
    room = Room(content.path)
    for batch in stream.batches():
        columns.add(batch)
        room.ask(columns.rows)
    columns.close()
    set_aside = dict(stream.set_aside + columns.set_aside)
    if not columns.rows:
        holds = f"no interval among its {stream.count} events" if stream.count else "no events"
        why = [*stream.notes, *(f"{count} {what}" for what, count in set_aside.items())]
        raise UnreadableError(f"{content.path}: a trace, but it holds {holds}{''.join(f'; {one}' for one in why)}")
    return _timeline(content.path, columns, envelope(stream.envelope), stream, set_aside)


def _timeline(path: str, columns: Columns, said: Envelope, stream: JsonEvents, set_aside: dict[str, int]) -> Timeline:
    """Sorts the columns by start, settles what only the whole trace can tell, and names things."""
    start, length = columns.column("start"), columns.column("length")
    order = np.argsort(start, kind="stable")
    absent = zero_times(start)
    if absent.any():
        set_aside["at time 0, where nothing else of the trace is"] = int(absent.sum())
        order = order[~absent[order]]
    start, length = start[order], length[order]
    if said.base_ns and int(np.median(start)) < _UNIX_NS:
        start += said.base_ns
    length += start
    end = length
    lane, lanes, told = compact(
        columns.column("lane")[order], list(columns.threads), list(columns.streams), columns.labels
    )
    kind, name = columns.column("kind")[order], columns.column("name")[order]
    notes = stream.notes + _tell_unknown(kind, lane, told, columns.unknown_categories)
    names = [word if isinstance(word, str) else "(no name)" if word is None else str(word) for word in columns.names]
    _tell_by_name(kind, name, names)
    correlation = columns.column("correlation")[order]
    size = _copied_bytes(kind, correlation, columns.column("size")[order])
    rows, ends = overruns(start, end, lane, kind)
    if len(rows):
        end[rows] = ends
        set_aside["overrunning durations, clipped at the next start on their stream"] = len(rows)
    collectives = _collectives(columns, order, kind, names)
    rank, noted = _rank(path, said)
    return Timeline(
        source=path,
        start_ns=start,
        end_ns=end,
        name=name,
        lane=lane,
        kind=kind,
        correlation=correlation,
        size_bytes=size,
        names=tuple(names),
        lanes=lanes,
        collectives=collectives,
        rank=rank,
        world_size=said.world_size,
        host=said.host,
        devices=said.devices,
        set_aside=set_aside,
        whole=stream.whole,
        notes=(*notes, *noted),
    )


def _tell_unknown(kind: U8, lane: I32, told: dict[int, Kind], words: list[str]) -> list[str]:
    """Gives rows without a known category a kind: what their lane tells, otherwise a range. Says so of the `words`."""
    unknown = np.flatnonzero(kind == UNTOLD)
    if not len(unknown):
        return []
    of_lane = np.full(int(lane.max()) + 1, Kind.RANGE, np.uint8)
    for each, means in told.items():
        of_lane[each] = means
    kind[unknown] = of_lane[lane[unknown]]
    if not words:
        return []
    listed = ", ".join(words[:3]) + (", ..." if len(words) > 3 else "")
    return [f"events of categories that longpole does not know ({listed}) were read as ranges"]


def _tell_by_name(kind: U8, name: I32, names: list[str]) -> None:
    """Lets names correct kinds, where old versions put several into one category; makes copies' names canonical."""
    for was in (Kind.OPERATOR, Kind.RANGE):
        _retell(kind, name, names, was, functools.partial(kind_of_host_name, kind=was))
    _retell(kind, name, names, Kind.KERNEL, kind_of_device_name)
    copies = np.flatnonzero(kind == Kind.COPY)
    for each in _used(name[copies], len(names)):
        if (canonical := copy_name(names[each])) != names[each]:
            name[copies[name[copies] == each]] = names.index(canonical) if canonical in names else len(names)
            if canonical not in names:
                names.append(canonical)


def _retell(kind: U8, name: I32, names: list[str], was: Kind, told: Callable[[str], int]) -> None:
    """Gives the rows of one kind the kind that their name tells; each name is asked once (steps have one each)."""
    rows = np.flatnonzero(kind == was)
    table = np.full(len(names), was, np.uint8)
    for each in _used(name[rows], len(names)):
        table[each] = told(names[each])
    kind[rows] = table[name[rows]]


def _used(name: I32, names: int) -> list[int]:
    """Which of the names occur, ascending."""
    found: list[int] = np.flatnonzero(np.bincount(name, minlength=names)).tolist()
    return found


def _copied_bytes(kind: U8, correlation: I64, size: I64) -> I64:
    """Sizes of copies and fills alone; those that do not say it (AMD's) get it from the call that made them."""
    moved = (kind == Kind.COPY) | (kind == Kind.FILL)
    calls = np.flatnonzero((kind == Kind.CALL) & (size > 0) & (correlation >= 0))
    silent = np.flatnonzero(moved & (size < 0) & (correlation >= 0))
    cause = partners(correlation[calls], correlation[silent])
    size[silent[cause >= 0]] = size[calls[cause[cause >= 0]]]
    size[~moved] = -1
    return size


def _collectives(columns: Columns, order: I64, kind: U8, names: list[str]) -> Collectives:
    """What kernels, or the operators that launched them, say of collectives; operators' rows where no kernels are."""
    known = dict(columns.collectives)
    announced = {external: told for _, external, told in columns.announced if external >= 0}
    known.update((row, announced[external]) for row, external in columns.awaiting.items() if external in announced)
    if not known and not (kind == Kind.KERNEL).any():
        known = {row: told for row, _, told in columns.announced}
    if not known:
        return Collectives()
    place = np.full(int(order.max()) + 1, -1, np.int64)
    place[order] = np.arange(len(order))
    rows = np.array([row for row in known if row < len(place) and place[row] >= 0], np.int64)
    rows = rows[np.argsort(place[rows], kind="stable")]
    told = [known[row] for row in rows.tolist()]
    numbers = {word: number for number, word in enumerate(names)}
    for word in (word for each in told for word in (each.operation, each.group) if word is not None):
        if word not in numbers:
            numbers[word] = len(names)
            names.append(word)
    return Collectives(
        row=place[rows],
        operation=np.array([numbers[each.operation] for each in told], np.int32),
        group=np.array([-1 if each.group is None else numbers[each.group] for each in told], np.int32),
        group_size=np.array([max(-1, min(each.group_size, 2**31 - 1)) for each in told], np.int32),
        in_bytes=np.array([each.in_bytes for each in told], np.int64),
        out_bytes=np.array([each.out_bytes for each in told], np.int64),
    )


def _rank(path: str, said: Envelope) -> tuple[int | None, list[str]]:
    if said.rank is not None:
        return said.rank, []
    rank = rank_in_name(os.path.basename(path))
    return rank, [] if rank is None else [f"it does not say its rank; {rank} is taken from the file's name"]
