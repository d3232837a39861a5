"""Events out of a stream of JSON: a list, an object with a list among its keys, or one event a line.

The text is never held as a whole, and no parser of our own splits it while it is healthy. A chunk is cut where an
event most likely ends, and decoded as a list: it decodes exactly when the cut was right. A chunk that does not decode
is cleaned; if it still does not, its events are salvaged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator
from types import GenericAlias
from typing import Any

import msgspec

from longpole.errors import UnreadableError
from longpole.sources.content import Content
from longpole.sources.json_mending import clean, escape_quotes, without_breaks
from longpole.sources.json_outline import outline, with_commas
from longpole.sources.json_salvage import BETWEEN, PHASE, Batch, Salvage

_BLANK = b"\xef\xbb\xbf \t\r\n"
#: No event is as long as this: text in which none ends is given up.
_LONGEST_EVENT = 1 << 23
#: Of a text as short as this, in which nothing is whole, more is waited for before it is taken for broken.
_SHORT = 1 << 16
#: What stands around the list is kept as far as this.
_LONGEST_ENVELOPE = 1 << 23


class JsonEvents:
    """The events of one file.

    `batches()` is run once. Then `count` is how many events there were (nulls apart), `envelope` holds the texts
    around the list (what of a JSON object stands before and after it), `set_aside` counts what could not be read by
    reason, and `notes` are lines for the user.
    """

    def __init__(self, content: Content, event: Any, key: str) -> None:
        """`event` is the union of tagged structs to decode to, `key` the list's name where it stands in an object."""
        self.count = 0
        self.envelope: list[bytes] = []
        self.set_aside: Counter[str] = Counter()
        self.notes: list[str] = []
        self._content = content
        self._chunks = content.chunks()
        self._decoder = msgspec.json.Decoder(GenericAlias(list, (event | None,)))
        self._key = re.compile(b'"' + re.escape(key.encode()) + rb'"\s*:\s*\[')
        self._marks: tuple[bytes, ...] = ()  # what stands between events, the surest first
        self._gap = b""  # what stands between events where no comma does: one event a line
        self._one_a_line = False  # events follow each other without commas, so there may be no list to close
        self._size = 0  # bytes of text so far
        self._mended = self._ended = self._unclosed = self._broken_off = False

    def batches(self) -> Iterator[Batch]:
        """The events, about a chunk at a time; `UnreadableError` where the file holds no list of events."""
        text, due = self._find_list(), 0
        while not self._ended:
            if len(text) >= due and (cut := self._cut(text)) is not None:
                left = yield from self._settle(text[: cut[0]], rest=text[cut[0] :])
                text = left + text[cut[0] :] if left else text[cut[1] :]
                due = 2 * len(left)  # text that is looked at again and again must grow by as much in between
            if not self._ended:
                if len(text) > _LONGEST_EVENT:
                    self.set_aside["broken events"] += 1
                    text = b""
                if chunk := self._next():
                    text += chunk
                else:
                    yield from self._settle(text, last=True)
                    break
        self._finish()

    def _next(self) -> bytes:
        chunk = next(self._chunks, b"")
        self._size += len(chunk)
        return chunk

    def _find_list(self) -> bytes:
        """The text from the first event on; what stands before it goes to `envelope`."""
        text = b""
        while len(text) < _LONGEST_EVENT and (chunk := self._next()):
            text += chunk
            found, event = self._key.search(text), PHASE.search(text)
            if found and not (event and event.start() < found.start()):
                self.envelope.append(text[: found.start()])
                text = text[found.end() :]
                if text.lstrip().startswith(b"]"):
                    self._end(text.lstrip()[1:])
                return text
            if event:
                # An event before any key: a bare list, or one event a line (DFTracer's begin with a bracket too).
                return text.lstrip(_BLANK).removeprefix(b"[")
        fault = f"; {self._content.fault}" if self._content.fault else ""
        raise UnreadableError(f"{self._content.path}: JSON without a list of trace events{fault}")

    def _cut(self, text: bytes) -> tuple[int, int] | None:
        """Where the last whole event most likely ends and the next one begins."""
        for mark in self._marks:
            if (at := text.rfind(mark, len(text) // 2)) >= 0:
                return at + 1, at + len(self._marks[-1]) - 1
        between = BETWEEN.search(text)
        if between is None:
            return None
        self._gap = between[0] if b"," not in between[1] and b"\n" in between[1] else b""
        self._one_a_line |= bool(self._gap)
        # An event's first key behind the mark keeps apart what lists of objects within an event look like.
        self._marks = (text[between.start() : between.end(2)], between[0])
        at = text.rfind(self._marks[0])
        return at + 1, at + len(between[0]) - 1

    def _settle(self, text: bytes, rest: bytes = b"", last: bool = False) -> Generator[Batch, None, bytes]:
        """The events of a text that ends with an event, or with the list (`rest` follows), or where the file does.

        Gives back what of the text is to be seen again with what follows it: an event that was cut in two after all.
        """
        if self._gap:
            text = text.replace(self._gap, b"},\n{")
        # Whether text is whole, as it is or mended, is cheap to ask; where it was cut in the wrong place is not.
        for read in (self._read_begun,) if last else (self._read_whole, self._read_begun):
            mended = text
            for step in (None, clean, without_breaks, escape_quotes):
                mended = step(mended) if step else mended
                if (found := read(mended, rest)) is not None:
                    self._mended |= step is not None
                    yield self._counted(found[0])
                    if found[1] and last:
                        yield from self._salvage(found[1], rest, last)
                    self._unclosed = last and not (found[1] or self._ended or self._one_a_line)
                    return found[1]
        if not last and len(text) < _SHORT:
            return text
        return (yield from self._salvage(text, rest, last))

    def _read_whole(self, text: bytes, rest: bytes) -> tuple[Batch, bytes] | None:
        """The events of a text that holds whole ones only."""
        events = self._decode(text)
        return None if events is None else (Batch(events, text), b"")

    def _read_begun(self, text: bytes, rest: bytes) -> tuple[Batch, bytes] | None:
        """The whole events that a text begins with, and what is left of it, if the list does not end there."""
        end = outline(text)
        whole = with_commas(text, end.events_end, end.bare)
        events = self._decode(whole) if whole or end.list_end else None
        if events is None:
            return None
        if end.list_end is not None:
            self._end(text[end.list_end :] + rest)
            return Batch(events, whole), b""
        self._one_a_line |= bool(end.bare)
        return Batch(events, whole), text[end.events_end :].lstrip(b", \t\r\n")

    def _salvage(self, text: bytes, rest: bytes, last: bool) -> Generator[Batch, None, bytes]:
        """What can be read of broken text, one event after the other where it must be. Gives back as `_settle` does."""
        cleaned = clean(text)
        salvage = Salvage(self._decode, cleaned, last)
        for batch in salvage.batches():
            yield self._counted(batch)
        self.set_aside += salvage.lost
        self._mended |= salvage.mended
        self._broken_off |= salvage.breaks_off
        if salvage.end is not None:
            self._end(cleaned[salvage.end :] + rest)
        return salvage.left

    def _decode(self, text: bytes) -> list[Any] | None:
        """The events of a text that holds whole ones and commas between them, or None."""
        try:
            events: list[Any] = self._decoder.decode(b"[%b]" % text)
        except (msgspec.DecodeError, ValueError, RecursionError):  # ValueError: of UTF-8, of integers without end
            return None
        return events

    def _counted(self, batch: Batch) -> Batch:
        if nulls := batch.events.count(None):
            self.set_aside["null events"] += nulls
        self.count += len(batch.events) - nulls
        return batch

    def _end(self, tail: bytes) -> None:
        self._ended = True
        while len(tail) < _LONGEST_ENVELOPE and (chunk := self._next()):
            tail += chunk
        self.envelope.append(tail)

    @property
    def whole(self) -> bool:
        """Whether the list of events was read to its end; False until it was."""
        return not (self._content.fault or self._broken_off or self._unclosed)

    def _finish(self) -> None:
        if self._content.fault:
            self.notes.append(f"{self._content.fault}: the {self.count} events before that were read")
        elif self._broken_off:
            at = f"at byte {self._size} of its text"
            self.notes.append(f"breaks off within an event, {at}: the {self.count} events before that were read")
        elif self._unclosed:
            self.notes.append(f"its list of events is not closed, so it may have been cut off after event {self.count}")
        if self._mended:
            self.notes.append("holds text that is not JSON (escapes, quotes, encoding or numbers); it was mended")
