"""What can be read of a text of JSON events in which some are broken.

The text is split where events seem to begin, and halved until the pieces that do not decode stand alone: a few broken
events among thousands cost a few decodings more. Single pieces are mended where it is plain what was meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from longpole.sources.json_mending import escape_quotes, without_args, without_breaks

#: Between two events: what closes the one and opens the other, seen by the keys that events begin with.
BETWEEN = re.compile(rb'\}(\s*,?\s*)\{(?=(\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id)"\s*:))')
#: Where the list may end. What matches within an event does not decode up to there, so a try tells.
END = re.compile(rb'\}(\s*,?\s*\])(?=\s*(?:,\s*"|\}|\Z))')
PHASE = re.compile(rb'"ph"\s*:\s*"([^"]*)"')
#: The phases that say when something ran; a broken event of another one is no loss.
_INTERVALS = (b"X", b"B", b"E")
#: An event that was split by something that looks like a boundary is sought in as many pieces.
_JOINED_PIECES = 64


class Batch(NamedTuple):
    """Some events as decoded objects, in the file's order, and the text (the inside of a list) they came from."""

    events: list[Any]
    text: bytes


class Salvage:
    """A text of events, some of them broken.

    `batches()` is run once. Then `end` is where in the text the list of events ends, if it does; `lost` counts what
    was given up, by reason; `mended` says whether anything was mended; `left` is text at the end that may be whole with
    what follows it; `breaks_off` says that nothing follows and the last event is cut.
    """

    def __init__(self, decode: Callable[[bytes], list[Any] | None], text: bytes, last: bool) -> None:
        """`decode` gives the events of a text of whole ones, or None; `last` says that the file ends with the text."""
        self.end: int | None = None
        self.lost: Counter[str] = Counter()
        self.left = b""
        self.mended = self.breaks_off = False
        self._decode = decode
        self._text = text
        self._last = last
        between = list(BETWEEN.finditer(text))
        self._starts = [0, *(match.end() - 1 for match in between)]
        self._ends = [*(match.start() + 1 for match in between), len(text)]

    def batches(self) -> Iterator[Batch]:
        """What can be read, in the text's order."""
        ranges = [(0, len(self._starts))]
        done = 0
        while ranges and self.end is None:
            low, high = ranges.pop()
            low = max(low, done)  # an event may have been joined out of pieces of the next range
            if low >= high:
                continue
            part = self._text[self._starts[low] : self._ends[high - 1]]
            if (events := self._decode(part)) is not None:
                yield Batch(events, part)
            elif high - low > 1:
                middle = (low + high) // 2
                ranges += [(middle, high), (low, middle)]
            else:
                done, batch = self._single(part, low)
                if batch is not None:
                    yield batch

    def _single(self, piece: bytes, at: int) -> tuple[int, Batch | None]:
        """A piece that does not decode: what was made of it, and the index of the piece after that."""
        for end in END.finditer(piece):
            event = piece[: end.start() + 1]
            if (events := self._decode(event)) is not None or event.count(b"{") == event.count(b"}"):
                self.end = self._starts[at] + end.end(1)
                if events is not None:
                    return at + 1, Batch(events, event)
                piece = event
                break
        else:
            if self._last and at == len(self._starts) - 1:
                # Of an event that is cut nothing is guessed.
                self.breaks_off = True
                return at + 1, None
            after = self._closing(at)
            if after is None and not self._last:
                self.left = self._text[self._starts[at] :]
                return len(self._starts), None
            if after is not None and after > at + 1:
                joined = self._text[self._starts[at] : self._ends[after - 1]]
                if (events := self._decode(joined)) is not None:
                    return after, Batch(events, joined)
        if (batch := self._mend(piece)) is None:
            self._give_up(piece)
        return at + 1, batch

    def _closing(self, at: int) -> int | None:
        """After which piece the braces that one opens are closed; None where the text ends before that.

        What looks like a boundary may lie within an event: in a list of objects, or in a name.
        """
        braces = 0
        for after in range(at, min(at + _JOINED_PIECES, len(self._starts))):
            piece = self._text[self._starts[after] : self._ends[after]]
            braces += piece.count(b"{") - piece.count(b"}")
            if braces <= 0:
                return after + 1
        return None if at + _JOINED_PIECES >= len(self._starts) else at + 1

    def _mend(self, piece: bytes) -> Batch | None:
        flat = without_breaks(piece)
        quoted = escape_quotes(flat)
        # Of an event whose braces are not closed, the arguments may go on in the next piece.
        closed = piece.count(b"{") <= piece.count(b"}")
        for mended in (flat, quoted, *((without_args(flat), without_args(quoted)) if closed else ())):
            if (events := self._decode(mended)) is not None:
                self.mended = True
                return Batch(events, mended)
        return None

    def _give_up(self, piece: bytes) -> None:
        phase = PHASE.search(piece)
        if phase is None:
            self.lost["events without a phase" if piece.rstrip().endswith(b"}") else "broken events"] += 1
        elif phase[1] in _INTERVALS:
            self.lost["broken events"] += 1
