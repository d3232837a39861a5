"""Events of a Kineto trace put into columns: names and lanes interned, numbers in arrays, a chunk at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from longpole.sources.json_salvage import Batch
from longpole.sources.kineto_events import (
    NO_ARGS,
    Args,
    Begin,
    Complete,
    End,
    Metadata,
    exact_ns,
    integer,
    integers,
    written_ns,
    written_times,
)
from longpole.sources.kineto_kinds import UNTOLD, copy_name, element_bytes, kind_of_category
from longpole.timeline.columns import I32, I64, Kind


class Interned(dict[Any, int]):
    """Numbers for things, in the order in which they are first seen."""

    def __missing__(self, thing: Any) -> int:
        self[thing] = number = len(self)
        return number


class Categories(dict[Any, int]):
    """The kind of a category, looked up once."""

    def __missing__(self, category: Any) -> int:
        self[category] = kind = kind_of_category(category)
        return kind


class Collective(NamedTuple):
    """What an event says of the collective it belongs to; -1 and None where it does not."""

    operation: str
    group: str | None
    group_size: int
    in_bytes: int
    out_bytes: int


#: The columns of a timeline before it is put together, and what they hold.
_TYPES: dict[str, type] = {
    "start": np.int64, "length": np.int64, "name": np.int32, "lane": np.int32, "kind": np.uint8,
    "correlation": np.int64, "size": np.int64,
}  # fmt: skip
_LAST_DEVICE_KIND = Kind.DEVICE_SYNC
_ANNOUNCEMENT = "record_param_comms"


class Columns:
    """Columns that grow by batches of events.

    `start` and `length` are ns on the file's own clock, `lane` is 2 i for the i-th of `threads` (pid, tid) and
    2 i + 1 for the i-th of `streams` (device, stream). The other columns are as in `Timeline`, not yet sorted.
    """

    def __init__(self) -> None:
        self.names = Interned()
        self.threads = Interned()
        self.streams = Interned()
        self.labels: dict[tuple[str, Hashable, Hashable], str] = {}
        self.collectives: dict[int, Collective] = {}  # by row
        self.announced: list[tuple[int, int, Collective]] = []  # row, external id and what the operator announced
        self.awaiting: dict[int, int] = {}  # external ids of communication kernels that say nothing themselves
        self.set_aside: Counter[str] = Counter()
        self.rows = 0
        self._categories = Categories()
        self._parts: dict[str, list[NDArray[Any]]] = {column: [] for column in _TYPES}
        self._begun: dict[tuple[Hashable, Hashable], list[tuple[Begin, int | None]]] = {}

    def add(self, batch: Batch) -> None:
        """Takes in a batch of decoded events."""
        found = set(map(type, batch.events))
        if Metadata in found or Begin in found or End in found:
            self._add_others(batch.events)
        if Complete in found:
            events = [event for event in batch.events if type(event) is Complete]
            start, length = exact_ns([event.ts for event in events]), exact_ns([event.dur for event in events])
            if start is None or length is None:
                events, start, length = self._with_written_times(events, batch.text)
            self._append(events, start, length)

    @property
    def unknown_categories(self) -> list[str]:
        """The categories that say nothing to longpole."""
        return [str(word) for word, kind in self._categories.items() if kind == UNTOLD and word is not None]

    def close(self) -> None:
        """Counts what was begun and did not end in the file."""
        if left := sum(map(len, self._begun.values())):
            self.set_aside["begun and not ended in the file"] += left

    def column(self, name: str) -> NDArray[Any]:
        """A whole column, which is given away: its parts are let go, so that columns don't lie twice in memory."""
        parts = self._parts.pop(name)
        return np.concatenate(parts) if parts else np.empty(0, _TYPES[name])

    def _with_written_times(self, events: list[Complete], text: bytes) -> tuple[list[Complete], I64, I64]:
        """The events that have times, with these: from the digits in the text, which are more than a float holds."""
        kept, start, length = [], [], []
        for event, (at, lasts) in zip(events, written_times(text), strict=True):
            if at is None:
                self.set_aside["without a readable time"] += 1
            elif lasts is None:
                self.set_aside["without a readable duration"] += 1
            else:
                kept.append(event)
                start.append(at)
                length.append(lasts)
        return kept, np.array(start, np.int64), np.array(length, np.int64)

    def _append(self, events: list[Complete], start: I64, length: I64) -> None:
        if (length < 0).any():
            good = np.flatnonzero(length >= 0)
            self.set_aside["negative durations"] += len(events) - len(good)
            events, start, length = [events[i] for i in good], start[good], length[good]
        if not events:
            return
        columns: dict[str, NDArray[Any]] = {"start": start, "length": length}
        try:
            columns |= self._words_and_numbers(events)
        except TypeError:  # a list or an object where a word or a number belongs
            columns |= self._words_and_numbers([_tidy(event) for event in events])
        for column, values in columns.items():
            self._parts[column].append(values)
        self.rows += len(events)

    def _words_and_numbers(self, events: list[Complete]) -> dict[str, NDArray[Any]]:
        """The columns of events apart from their times; TypeError where a word can't be interned."""
        count = len(events)
        kind = np.fromiter(map(self._categories.__getitem__, [event.cat for event in events]), np.uint8, count)
        name = np.fromiter(map(self.names.__getitem__, [event.name for event in events]), np.int32, count)
        places = zip([event.pid for event in events], [event.tid for event in events], strict=True)
        lane = np.fromiter(map(self.threads.__getitem__, places), np.int32, count) * 2
        correlation, size = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
        calls = np.flatnonzero(kind == Kind.CALL)
        if len(calls):
            args = [events[i].args or NO_ARGS for i in calls.tolist()]
            correlation[calls] = integers([arg.correlation for arg in args])
            size[calls] = integers([arg.size for arg in args])
        device = np.flatnonzero(kind <= _LAST_DEVICE_KIND)
        if len(device):
            on_device = [events[i] for i in device.tolist()]
            args = [event.args or NO_ARGS for event in on_device]
            lane[device] = self._on_streams(on_device, args)
            correlation[device] = integers([arg.correlation for arg in args])
            size[device] = integers([arg.size if arg.bytes == -1 else arg.bytes for arg in args])
            self._note_device_args(device, name, on_device, args)
        if (announcement := self.names.get(_ANNOUNCEMENT)) is not None:
            for row in np.flatnonzero(name == announcement).tolist():
                arg = events[row].args or NO_ARGS
                if arg.collective is not None:
                    self.announced.append((self.rows + row, integer(arg.external_id), collective(arg)))
        return {"kind": kind, "name": name, "lane": lane, "correlation": correlation, "size": size}

    def _on_streams(self, events: list[Complete], args: list[Args]) -> I32:
        """The lanes of what ran on devices; some versions give device and stream as process and thread only."""
        places = [
            (event.pid if arg.device is None else arg.device, event.tid if arg.stream is None else arg.stream)
            for event, arg in zip(events, args, strict=True)
        ]
        return np.fromiter(map(self.streams.__getitem__, places), np.int32, len(places)) * 2 + 1

    def _note_device_args(self, rows: I64, name: I32, events: list[Complete], args: list[Args]) -> None:
        """Keeps what kernels say of their collectives; names MTIA's copies by the direction that they give apart."""
        for row, event, arg in zip(rows.tolist(), events, args, strict=True):
            if arg.collective is not None:
                self.collectives[self.rows + row] = collective(arg)
            elif arg.external_id is not None and "ccl" in str(event.name):
                self.awaiting[self.rows + row] = integer(arg.external_id)
            if arg.direction is not None:
                name[row] = self.names[copy_name(str(event.name), arg.direction)]

    def _add_others(self, events: list[Any]) -> None:
        """Names of processes and threads, and intervals that are written as two events."""
        ended: list[tuple[Complete, int, int]] = []
        for event in events:
            if type(event) is Metadata:
                self._note_label(event)
            elif type(event) is Begin:
                self._begun.setdefault((str(event.pid), str(event.tid)), []).append(
                    (event, written_ns(bytes(event.ts)))
                )
            elif type(event) is End:
                stack = self._begun.get((str(event.pid), str(event.tid)))
                if not stack:
                    self.set_aside["ended but not begun in the file"] += 1
                    continue
                begin, start = stack.pop()
                end = written_ns(bytes(event.ts))
                if start is None or end is None:
                    self.set_aside["without a readable time"] += 1
                    continue
                whole = Complete(name=begin.name, cat=begin.cat, pid=begin.pid, tid=begin.tid, args=begin.args)
                ended.append((whole, start, end - start))
        self._append(
            [event for event, _, _ in ended],
            np.array([start for _, start, _ in ended], np.int64),
            np.array([length for _, _, length in ended], np.int64),
        )

    def _note_label(self, event: Metadata) -> None:
        if event.name not in ("process_name", "thread_name") or event.args is None:
            return
        if isinstance(event.args.name, str) and isinstance(event.pid, Hashable) and isinstance(event.tid, Hashable):
            tid = event.tid if event.name == "thread_name" else None
            self.labels[event.name, event.pid, tid] = event.args.name.strip()


def collective(args: Args) -> Collective:
    """What the arguments of a kernel, or of the operator that launched it, say of a collective."""
    element = element_bytes(args.dtype)
    sizes = [
        integer(count) * element if element and integer(count) >= 0 else -1
        for count in (args.in_elements, args.out_elements)
    ]
    group = str(args.group) if args.group is not None else None
    in_bytes, out_bytes = (size if size < 2**63 else -1 for size in sizes)
    return Collective(str(args.collective), group, integer(args.group_size), in_bytes, out_bytes)


def _tidy(event: Complete) -> Complete:
    """The event with only numbers and words where lanes and names are read from."""
    args = event.args or NO_ARGS
    args = msgspec.structs.replace(args, device=_word(args.device), stream=_word(args.stream))
    cat = event.cat if isinstance(event.cat, str) else None
    return Complete(name=_word(event.name), cat=cat, pid=_word(event.pid), tid=_word(event.tid), args=args)


def _word(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else str(value)
