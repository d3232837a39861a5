"""Names the one binding bottleneck of a GPU job from its traces.

    >>> import longpole
    >>> verdict = longpole.why("trace.json.gz")
    >>> verdict.binding, verdict.ceiling

Importing the package is cheap: what is asked for is imported on its first use. Nothing here prints.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpole.errors import LongpoleError as LongpoleError
    from longpole.sources import read as read
    from longpole.timeline.columns import Timeline as Timeline
    from longpole.verdict import Verdict as Verdict

__version__ = "0.1.0"

__all__ = ["LongpoleError", "Timeline", "Verdict", "__version__", "read", "why"]

_HOME = {
    "LongpoleError": "longpole.errors",
    "Timeline": "longpole.timeline.columns",
    "Verdict": "longpole.verdict",
    "read": "longpole.sources",
}

_Path = str | os.PathLike[str]


def why(paths: _Path | Iterable[_Path], *, bare_step: str | int | None = None) -> Verdict:
    """Say what binds the job that these traces recorded: one path, or one for each rank.

    `bare_step` is the time of a step without the profiler, as text ("26ms") or in ns; with it the profiler's
    slow-down of a step is taken out. Raises UnreadableError where a path holds no trace longpole knows, UsageError
    where `bare_step` is no duration; both are LongpoleError.
    """
    from longpole import job, sources, units

    _register_notebook()
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    bare_step_ns = units.parse_duration(bare_step) if isinstance(bare_step, str) else bare_step
    return job.why(sources.read(given), bare_step_ns=bare_step_ns)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOME[name]), name)
    if name == "Verdict":
        _register_notebook()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _register_notebook() -> None:
    """Let a notebook show a verdict; the ground floor itself knows no renderer."""
    from longpole.verdict import Verdict

    if Verdict.notebook is None:
        Verdict.notebook = _draw_notebook


def _draw_notebook(verdict: Verdict) -> str:
    from longpole.render import notebook

    return notebook.render(verdict)
