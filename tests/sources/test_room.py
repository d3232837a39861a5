"""A trace that does not fit in memory is refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longpole import sources
from longpole.errors import UnreadableError
from longpole.sources import room


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace of a thousand operators."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": at, "dur": 1} for at in range(1000)
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return path


def test_more_than_memory_has_room_for_is_refused(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LOOK_EVERY", 100)
    monkeypatch.setattr(room, "free_bytes", lambda: 50_000)
    with pytest.raises(UnreadableError, match=r"more than fits in memory: [\d,]+ intervals .* 0\.0 GB are free"):
        sources.read([trace])


def test_what_fits_is_read_and_where_the_system_says_nothing_all_is(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LOOK_EVERY", 100)
    for free in (10**9, None):
        monkeypatch.setattr(room, "free_bytes", lambda free=free: free)
        assert len(sources.read([trace])[0]) == 1000


def test_this_machine_says_what_is_free() -> None:
    free = room.free_bytes()
    assert free is None or free > 1 << 20
