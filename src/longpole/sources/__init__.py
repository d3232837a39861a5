"""Sources: what longpole reads. Each module of `SOURCES` owns one format; a file is claimed by its content alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from longpole.errors import UnreadableError
from longpole.sources import kineto
from longpole.sources.content import Content
from longpole.sources.looks import looks_like
from longpole.timeline.columns import Timeline

Path = str | os.PathLike[str]


class Source(Protocol):
    """What a module of `SOURCES` has."""

    NAME: str

    def claims(self, head: bytes) -> bool:
        """Whether a file that begins with these bytes (unpacked) is of its format."""

    def read(self, content: Content) -> Timeline:
        """The timeline of such a file; `UnreadableError` in one line where it holds none."""


#: Every format that is read, the one that claims most narrowly first.
SOURCES: tuple[Source, ...] = (kineto,)


def read(paths: Sequence[Path]) -> list[Timeline]:
    """The timelines of files and folders, by rank where it is known, then by path.

    Of a folder every file below it that a source claims is read; one that is claimed and can't be read is named in
    the notes of the first timeline. A file given by itself must be readable. `UnreadableError` says which is not.
    """
    timelines: list[Timeline] = []
    seen: set[str] = set()
    for path in paths:
        if os.path.isdir(path):
            timelines += _read_folder(os.fspath(path), seen)
        elif _new(path, seen):
            timelines.append(read_one(path))
    return sorted(timelines, key=lambda timeline: (timeline.rank is None, timeline.rank or 0, timeline.source))


def read_one(path: Path) -> Timeline:
    """The timeline of one file, or `UnreadableError` in one line."""
    with Content(path) as content:
        if (source := _source(content)) is not None:
            return source.read(content)
        raise UnreadableError(
            f"{content.path}: {_looks(content)}; longpole reads {' and '.join(s.NAME for s in SOURCES)}"
        )


def _source(content: Content) -> Source | None:
    return next((source for source in SOURCES if source.claims(content.head)), None)


def _looks(content: Content) -> str:
    words = looks_like(content.head)
    return f"looks like {words}{f' ({content.fault})' if content.fault else ''}"


def _new(path: Path, seen: set[str]) -> bool:
    """Whether a file was not yet read under this name or another."""
    real = os.path.realpath(path)
    new = real not in seen
    seen.add(real)
    return new


def _read_folder(folder: str, seen: set[str]) -> list[Timeline]:
    timelines: list[Timeline] = []
    failed: list[str] = []
    claimed = False
    for path in _files(folder):
        try:
            with Content(path) as content:
                if (source := _source(content)) is not None:
                    claimed = True
                    timelines += [source.read(content)] if _new(path, seen) else []
        except UnreadableError as error:
            failed.append(str(error))
    if failed and not timelines:
        raise UnreadableError(f"{folder}: holds no trace that can be read; {failed[0]}")
    if not claimed:
        raise UnreadableError(f"{folder}: holds no file that longpole reads ({' or '.join(s.NAME for s in SOURCES)})")
    if failed:
        timelines[0] = replace(timelines[0], notes=(*timelines[0].notes, *(f"left out: {why}" for why in failed)))
    return timelines


def _files(folder: str) -> Iterator[str]:
    """The regular files below a folder, in the order of their names."""
    for where, below, names in os.walk(folder):
        below.sort()
        yield from (path for name in sorted(names) if os.path.isfile(path := os.path.join(where, name)))
