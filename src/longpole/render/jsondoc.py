"""The document `longpole.verdict/1`: what a verdict says, as JSON that other programs read.

Its JSON Schema is docs/verdict.schema.json. What is derived (binding, ceilings, fractions) is written beside what is
stored, and is left aside when a document is read back. Keys are only ever added.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from longpole.errors import UnreadableError
from longpole.render import wording
from longpole.verdict import SCHEMA, Evidence, Fix, Share, Table, Verdict


class _Head(msgspec.Struct):
    schema: str | None = None


def render(verdict: Verdict) -> str:
    """The document as indented JSON with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(document(verdict)), indent=2).decode() + "\n"


def document(verdict: Verdict) -> dict[str, Any]:
    """The document as dicts and lists: text is valid Unicode, numbers are finite, None is "not known"."""
    return {"schema": SCHEMA, **_body(verdict)}


def parse(document: bytes | str) -> Verdict:
    """The verdict that a document was written from. Raises UnreadableError if it is none of longpole's."""
    try:
        head = msgspec.json.decode(document, type=_Head)
        if head.schema != SCHEMA:
            raise UnreadableError(f"not a {SCHEMA} document: its schema is {head.schema!r}")
        return msgspec.json.decode(document, type=Verdict)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableError(f"not a {SCHEMA} document: {error}") from None


def _body(verdict: Verdict) -> dict[str, Any]:
    return {
        "subject": {"kind": _text(verdict.subject.kind), "name": _text(verdict.subject.name)},
        "window": {"amount": verdict.window.amount, "unit": _text(verdict.window.unit)},
        "binding": verdict.binding,
        "ceiling": _number(verdict.ceiling),
        "runner_up": verdict.runner_up,
        "note": _note(verdict),
        "answered": verdict.answered,
        "noise": verdict.noise,
        "shares": [_share(verdict, share) for share in verdict.shares],
        "evidence": [_evidence(item) for item in verdict.evidence],
        "fixes": [_fix(fix) for fix in verdict.fixes],
        "notes": [_text(note) for note in verdict.notes],
        "tables": {_text(name): _table(table) for name, table in verdict.tables.items()},
        "parts": [_body(part) for part in verdict.parts],
    }


def _note(verdict: Verdict) -> str | None:
    """Why nothing binds, if nothing does, and what the verdict was told to say."""
    lines = [*([wording.answer(verdict)] if verdict.binding is None else []), *verdict.notes]
    return _text(" ".join(lines)) or None


def _share(verdict: Verdict, share: Share) -> dict[str, Any]:
    low, high = verdict.ceiling_range(share)
    return {
        "cause": _text(share.cause),
        "amount": share.amount,
        "removable": share.removable,
        "removable_low": share.removable_low,
        "removable_high": share.removable_high,
        "fraction": wording.fraction(verdict, share),
        "ceiling": _number(verdict.ceiling_of(share)),
        "ceiling_low": _number(low),
        "ceiling_high": _number(high),
        "caps_at": _number(verdict.caps_at(share)),
    }


def _evidence(item: Evidence) -> dict[str, Any]:
    return {
        "what": _text(item.what),
        "where": _text(item.where),
        "measured": _number(item.measured),
        "limit": _number(item.limit),
        "unit": _text(item.unit),
        "status": item.status,
        "source": _text(item.source),
        "detail": None if item.detail is None else _text(item.detail),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {"cause": _text(fix.cause), "do": _text(fix.do), "effort": fix.effort, "at_most": _number(fix.at_most)}


def _table(table: Table) -> dict[str, Any]:
    return {
        "columns": [{"name": _text(column.name), "unit": _text(column.unit)} for column in table.columns],
        "rows": [[_text(c) if isinstance(c, str) else _number(c) for c in row] for row in table.rows],
    }


def _number(value: float | int | None) -> float | int | None:
    """JSON has no infinity and no NaN: they are "not known" there."""
    return None if value is None or not math.isfinite(value) else value


def _text(text: str) -> str:
    """Half a surrogate pair is no text in UTF-8; names in traces may hold one."""
    return text.encode("utf-8", "replace").decode()
