"""The pages of `longpole explain`: one word with its texts, or the list of all words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def render(word: str, title: str, sections: Sequence[tuple[str, str]], width: int) -> str:
    """One word on a page of this width: its title, then each section's heading and text."""
    lines = [f"{word}: {title}"]
    for heading, text in sections:
        lines += ["", heading, *_wrapped(text, width, "  ", "  ")]
    return "\n".join(lines) + "\n"


def contents(groups: Sequence[tuple[str, Sequence[tuple[str, str]]]], width: int) -> str:
    """Every word with its title, in groups under a heading."""
    wide = max((len(word) for _, entries in groups for word, _ in entries), default=0)
    pages = []
    for heading, entries in groups:
        lines = [heading]
        for word, title in entries:
            lines += _wrapped(title, width, f"  {word.ljust(wide)}  ", " " * (wide + 4))
        pages.append("\n".join(lines) + "\n")
    return "\n".join(pages)


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    wrapper = textwrap.TextWrapper(max(width, 40), initial_indent=first, subsequent_indent=rest)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.wrap(text)
