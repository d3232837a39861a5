"""Renderers: a verdict in, text out. They format what a verdict says and compute nothing of their own.

Each renderer is a module with `render(verdict) -> str`; `RENDERERS` is the list of those that a file can be written
with. A new format is a new module and one line here.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longpole.errors import UsageError

if TYPE_CHECKING:
    from longpole.verdict import Verdict


@dataclass(frozen=True)
class Renderer:
    """A format: its name, the suffix of its files, and the module that draws it, imported when it is used."""

    name: str
    suffix: str
    module: str

    def draw(self, verdict: Verdict) -> str:
        """The text of a file in this format."""
        text: str = importlib.import_module(self.module).render(verdict)
        return text


RENDERERS: tuple[Renderer, ...] = (
    Renderer("json", ".json", "longpole.render.jsondoc"),
    Renderer("text", ".txt", "longpole.render.terminal"),
)


def renderer_for(path: str) -> Renderer:
    """The renderer that the suffix of a path asks for, the longest suffix first. Raises UsageError if there is none."""
    for renderer in sorted(RENDERERS, key=lambda r: -len(r.suffix)):
        if path.lower().endswith(renderer.suffix):
            return renderer
    known = ", ".join(f"{r.suffix} ({r.name})" for r in RENDERERS)
    raise UsageError(f"can't tell the format of {path!r} from its suffix; what can be written: {known}")
