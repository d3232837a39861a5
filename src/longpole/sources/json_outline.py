"""Where events end in a text of JSON, by brackets and strings alone: for text that was cut in the wrong place."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

#: A string to its end, or to the text's end (then the group is empty); or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.DOTALL)


class Outline(NamedTuple):
    """Positions in a text: after the last whole event (0: none), after the bracket that ends the list of events (None:
    it does not end here), and where events begin that no comma parts from the one before.
    """

    events_end: int
    list_end: int | None
    bare: list[int]


def outline(text: bytes) -> Outline:
    """The outline of a text that begins with an event. It says nothing of what broken text means: a try tells."""
    depth = events_end = 0
    bare: list[int] = []
    for token in _TOKEN.finditer(text):
        kind = text[token.start()]
        if kind in b"{[":
            if depth == 0 and events_end and not text[events_end : token.start()].strip():
                bare.append(token.start())
            depth += 1
        elif kind in b"}]":
            depth -= 1
            if depth == 0:
                events_end = token.end()
            elif depth < 0:
                return Outline(events_end, token.end() if kind in b"]" else None, bare)
        elif not token[1]:
            break
    return Outline(events_end, None, bare)


def with_commas(text: bytes, end: int, bare: list[int]) -> bytes:
    """The text up to `end`, with a comma before each of the events that lack one."""
    edges = [0, *(at for at in bare if at < end), end]
    return b",".join(text[low:high] for low, high in pairwise(edges))
