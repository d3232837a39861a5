"""The document longpole.verdict/1: it keeps to its schema, holds every number, and can be read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from longpole.errors import UnreadableError
from longpole.render import jsondoc
from longpole.verdict import Verdict

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "verdict.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def closed(schema: Any) -> Any:
    """The schema with every object closed, so that a key which it does not describe is found."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(value) for key, value in schema.items()}
    if "properties" in out and "$ref" not in out:
        out["unevaluatedProperties"] = False
    return out


def test_every_document_keeps_to_the_schema(verdict: Verdict, validator: jsonschema.Draft202012Validator) -> None:
    validator.validate(json.loads(jsondoc.render(verdict)))


def test_the_schema_describes_every_key(verdict: Verdict) -> None:
    body = closed(SCHEMA["$defs"]["verdict"])
    body.pop("unevaluatedProperties")  # closed where it is used, with or without the head
    whole = {**SCHEMA, "$defs": {**closed(SCHEMA["$defs"]), "verdict": body}, "unevaluatedProperties": False}
    jsonschema.Draft202012Validator(whole).validate(json.loads(jsondoc.render(verdict)))


@pytest.mark.parametrize("key", ["binding", "ceiling", "runner_up", "note", "shares", "evidence", "parts", "window"])
def test_the_schema_misses_a_missing_key(
    key: str, verdicts: dict[str, Verdict], validator: jsonschema.Draft202012Validator
) -> None:
    document = json.loads(jsondoc.render(verdicts["fed_badly"]))
    del document[key]
    assert not validator.is_valid(document)


def test_numbers_are_those_of_the_verdict(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["fed_badly"]
    document = jsondoc.document(verdict)
    assert document["binding"] == "input.cpu"
    assert document["ceiling"] == verdict.ceiling
    assert document["runner_up"] == "gpu.compute"
    share = next(s for s in document["shares"] if s["cause"] == "input.cpu")
    assert share["fraction"] == pytest.approx(0.61, abs=0.001)
    assert share["caps_at"] == pytest.approx(1.634, abs=0.001)
    assert sum(s["amount"] for s in document["shares"]) == document["window"]["amount"]


def test_note_says_why_nothing_binds(verdicts: dict[str, Verdict]) -> None:
    for name in ("tied", "blind", "empty"):
        document = jsondoc.document(verdicts[name])
        assert document["binding"] is None
        assert document["note"]
    assert jsondoc.document(verdicts["healthy"])["note"] is None
    assert jsondoc.document(verdicts["fed_badly"])["note"] == "2 events had a negative duration and were set aside"


def test_reads_back_what_it_wrote(verdicts: dict[str, Verdict]) -> None:
    verdicts.pop("hostile")  # broken Unicode and infinities are mended on the way
    for verdict in verdicts.values():
        assert jsondoc.parse(jsondoc.render(verdict)) == verdict


def test_hostile_texts_are_valid_json_in_utf8(verdicts: dict[str, Verdict]) -> None:
    text = jsondoc.render(verdicts["hostile"])
    text.encode("utf-8")
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert document["evidence"][0]["measured"] is None
    assert document["fixes"][0]["at_most"] is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b'{"schema": "longpole.verdict/2"}',
        b'{"schema": "longpole.verdict/1"}',
        b'{"schema": 1}',
        b"\xff",
    ],
)
def test_other_documents_are_refused(text: bytes) -> None:
    with pytest.raises(UnreadableError):
        jsondoc.parse(text)
