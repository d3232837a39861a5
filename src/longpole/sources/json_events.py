"""Events out of a stream of JSON: a list, an object with a list among its keys, or one event a line.

The text is never held as a whole, and no parser of our own splits it while it is healthy. A chunk is cut where an
event most likely ends, and decoded as a list: it decodes exactly when the cut was right. A chunk that does not decode
is mended, then halved until the events at fault stand alone; those are mended one by one, or set aside and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from types import GenericAlias
from typing import Any, NamedTuple

import msgspec

from longpole.errors import UnreadableError
from longpole.sources.content import Content
from longpole.sources.json_mending import clean, escape_quotes, without_args, without_breaks

#: Between two events: what closes the one and opens the other, seen by the keys that events begin with.
_BETWEEN = re.compile(rb'\}(\s*,?\s*)\{(?=\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id)"\s*:)')
#: Where the list may end. What matches inside an event does not decode up to there, so a try tells.
_END = re.compile(rb'\}(\s*,?\s*\])(?=\s*(?:,\s*"|\}|\Z))')
_PHASE = re.compile(rb'"ph"\s*:\s*"([^"]*)"')
#: The phases that say when something ran; a broken event of another one is no loss.
_INTERVALS = (b"X", b"B", b"E")
_BLANK = b"\xef\xbb\xbf \t\r\n"
#: No event is as long as this: text without an end of an event is not waited on any longer.
_LONGEST_EVENT = 1 << 24
#: What stands around the list is kept as far as this.
_LONGEST_ENVELOPE = 1 << 23
#: An event that was cut in two by something that looks like a boundary is sought in as many pieces.
_JOINED_PIECES = 16


class Batch(NamedTuple):
    """Some events as decoded objects, in the file's order, and the text (the inside of a list) they came from."""

    events: list[Any]
    text: bytes


class JsonEvents:
    """The events of one file.

    `batches()` is run once. Then `envelope` holds the texts around the list (what of a JSON object stands before and
    after it), `set_aside` counts what could not be read by reason, and `notes` are lines for the user.
    """

    def __init__(self, content: Content, event: Any, key: str) -> None:
        """`event` is the union of tagged structs to decode to, `key` the list's name where it stands in an object."""
        self.envelope: list[bytes] = []
        self.set_aside: Counter[str] = Counter()
        self.notes: list[str] = []
        self.count = 0
        self._content = content
        self._chunks = content.chunks()
        self._decoder = msgspec.json.Decoder(GenericAlias(list, (event | None,)))
        self._key = re.compile(b'"' + re.escape(key.encode()) + rb'"\s*:\s*\[')
        self._marks: tuple[bytes, ...] = ()  # what stands between events, the surest first
        self._size = 0  # bytes of text so far
        self._gap = b""  # what stands between events where no comma does: one event a line
        self._dirty = False  # text of this file needed mending
        self._ended = self._unclosed = self._broken_off = self._mended = False

    def batches(self) -> Iterator[Batch]:
        """The events, about a chunk at a time; `UnreadableError` where the file holds no list of events."""
        text = self._find_list()
        while not self._ended:
            if (cut := self._cut(text)) is not None:
                yield from self._settle(text[: cut[0]], rest=text[cut[0] :])
                text = text[cut[1] :]
            elif len(text) > _LONGEST_EVENT:
                yield from self._settle(text)
                text = b""
            if not self._ended:
                if chunk := next(self._chunks, b""):
                    text += chunk
                    self._size += len(chunk)
                else:
                    yield from self._settle(text, last=True)
                    break
        self._finish()

    def _find_list(self) -> bytes:
        """The text from the first event on; what stands before it goes to `envelope`."""
        text = b""
        for chunk in self._chunks:
            text += chunk
            self._size += len(chunk)
            found, event = self._key.search(text), _PHASE.search(text)
            if found and not (event and event.start() < found.start()):
                self.envelope.append(text[: found.start()])
                return self._opened(text[found.end() :])
            if event:
                # An event before any key: a bare list, or one event a line (DFTracer's begin with a bracket too).
                return text.lstrip(_BLANK).removeprefix(b"[")
            if len(text) > _LONGEST_EVENT:
                break
        raise UnreadableError(f"{self._content.path}: JSON, but without a list of trace events")

    def _opened(self, text: bytes) -> bytes:
        if text.lstrip().startswith(b"]"):
            self._end(text.lstrip()[1:])
        return text

    def _cut(self, text: bytes) -> tuple[int, int] | None:
        """Where the last whole event most likely ends and the next one begins."""
        for mark in self._marks:
            if (at := text.rfind(mark)) > len(text) // 2:
                return at + 1, at + len(self._marks[-1]) - 1
        between = _BETWEEN.search(text)
        if between is None:
            return None
        self._gap = between[0] if b"," not in between[1] and b"\n" in between[1] else b""
        # An event's own key behind the mark keeps apart what lists of objects within an event look like.
        self._marks = (between[0] + b'"ph"', between[0] + b'"name"', between[0])
        at = text.rfind(between[0])
        return at + 1, at + len(between[0]) - 1

    def _settle(self, text: bytes, rest: bytes = b"", last: bool = False) -> Iterator[Batch]:
        """The events of a text that ends with an event, or with the list (`rest` follows), or where the file does."""
        if self._gap:
            text = text.replace(self._gap, b"},\n{")
        for cleaning in (True,) if self._dirty else (False, True):
            if cleaning:
                cleaned = clean(text)
                self._dirty |= cleaned != text
                text = cleaned
            if not last and (events := self._decode(text)) is not None:
                yield self._batch(events, text)
                return
            if (batch := self._decode_to_end(text, rest)) is not None:
                yield batch
                return
        if last and (events := self._decode(text.rstrip(b", \t\r\n"))) is not None:
            self._unclosed = not self._gap
            yield self._batch(events, text.rstrip(b", \t\r\n"))
            return
        yield from self._salvage(text, rest, last)

    def _decode(self, text: bytes) -> list[Any] | None:
        try:
            events: list[Any] = self._decoder.decode(b"[%b]" % text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return events

    def _batch(self, events: list[Any], text: bytes) -> Batch:
        if nulls := events.count(None):
            self.set_aside["null events"] += nulls
        self.count += len(events) - nulls
        return Batch(events, text)

    def _decode_to_end(self, text: bytes, rest: bytes) -> Batch | None:
        """The events up to the end of the list, if it ends within this text."""
        for end in _END.finditer(text):
            if (events := self._decode(text[: end.start() + 1])) is not None:
                self._end(text[end.end(1) :] + rest)
                return self._batch(events, text[: end.start() + 1])
        return None

    def _salvage(self, text: bytes, rest: bytes, last: bool) -> Iterator[Batch]:
        """The events of a text in which some are broken: halves that decode are whole, single ones are mended."""
        between = list(_BETWEEN.finditer(text))
        starts = [0, *(match.end() - 1 for match in between)]
        ends = [*(match.start() + 1 for match in between), len(text)]
        ranges = [(0, len(starts))]
        done = 0
        while ranges and not self._ended:
            low, high = ranges.pop()
            low = max(low, done)  # an event may have been joined out of pieces of the next range
            if low >= high:
                continue
            part = text[starts[low] : ends[high - 1]]
            if (events := self._decode(part)) is not None:
                yield self._batch(events, part)
            elif high - low > 1:
                middle = (low + high) // 2
                ranges += [(middle, high), (low, middle)]
            elif (batch := self._decode_to_end(part, text[ends[low] :] + rest)) is not None:
                yield batch
            else:
                done, batch = self._mend(text, starts, ends, low)
                if batch is not None:
                    yield batch
                elif last and done == len(starts):
                    self._broken_off = True
                elif (phase := _PHASE.search(part)) is None:
                    self.set_aside["events without a phase" if part.endswith(b"}") else "broken events"] += 1
                elif phase[1] in _INTERVALS:
                    self.set_aside["broken events"] += 1

    def _mend(self, text: bytes, starts: list[int], ends: list[int], at: int) -> tuple[int, Batch | None]:
        """One broken event, mended, and the index of the piece after it."""
        piece = text[starts[at] : ends[at]]
        flat = without_breaks(piece)
        quoted = escape_quotes(flat)
        for mended in (flat, quoted, without_args(flat), without_args(quoted)):
            if (events := self._decode(mended)) is not None:
                self._mended = True
                return at + 1, self._batch(events, mended)
        if piece.count(b"{") > piece.count(b"}"):
            for after in range(at + 1, min(at + _JOINED_PIECES, len(starts))):
                if (events := self._decode(text[starts[at] : ends[after]])) is not None:
                    return after + 1, self._batch(events, text[starts[at] : ends[after]])
        return at + 1, None

    def _end(self, tail: bytes) -> None:
        self._ended = True
        for chunk in self._chunks:
            if len(tail) < _LONGEST_ENVELOPE:
                tail += chunk
        self.envelope.append(tail)

    def _finish(self) -> None:
        if self._content.fault:
            self.notes.append(f"{self._content.fault}: the {self.count} events before that were read")
        elif self._broken_off:
            self.notes.append(
                f"breaks off within an event, at byte {self._size} of its text: {self.count} events were read"
            )
        elif self._unclosed:
            self.notes.append(f"its list of events is not closed, so it may have been cut off after event {self.count}")
        if self._dirty or self._mended:
            self.notes.append("holds text that is not JSON (escapes, quotes, encoding or numbers); it was mended")
