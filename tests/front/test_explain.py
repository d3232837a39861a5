"""The texts of explain: all there, all different, fit to be read."""

from __future__ import annotations

import re

import pytest

from longpole.job.causes import CAUSES, EVIDENCE, Finding
from longpole.verdict import HEALTHY, UNBINDABLE, Cause

#: The table of causes in the design, and the words of the evidence that the analysis emits.
CAUSE_WORDS = [
    "queue",
    "startup",
    "compile",
    "input",
    "input.cpu",
    "input.disk",
    "input.metadata",
    "input.network",
    "checkpoint",
    "disk",
    "metadata",
    "network.io",
    "network",
    "network.collective",
    "network.imbalance",
    "copy",
    "launch",
    "serial",
    "alloc",
    "gpu.compute",
    "gpu.memory",
    "cpu",
    "memory",
    "wait",
    "profiler",
    "unknown",
]
EVIDENCE_WORDS = [
    "trace_coverage",
    "steps",
    "worst_step",
    "warm_up",
    "kernels",
    "exposed_collectives",
    "hidden_collectives",
    "collective_rate",
    "straggler",
    "clock_alignment",
    "pageable_copies",
    "pinned_copies",
    "device_copies",
    "peer_copies",
    "small_copies",
    "loader_wait",
    "checkpoint_saves",
    "dispatch",
    "synchronisation",
    "allocation",
    "compilation",
    "start_up",
    "serial_sections",
    "graph_launches",
    "profiler_overhead",
    "set_aside",
    "missing_ranks",
    "host_threads",
]


def test_every_word_has_an_entry_and_only_one() -> None:
    assert [cause.word for cause in CAUSES] == CAUSE_WORDS
    assert [finding.word for finding in EVIDENCE] == EVIDENCE_WORDS
    assert not set(CAUSE_WORDS) & set(EVIDENCE_WORDS)


def test_the_words_of_the_ground_floor_are_causes() -> None:
    assert set(CAUSE_WORDS).issuperset(UNBINDABLE | HEALTHY)


@pytest.mark.parametrize("entry", [*CAUSES, *EVIDENCE], ids=lambda entry: entry.word)
def test_texts_are_sentences(entry: Cause | Finding) -> None:
    texts = (
        (entry.charged_when, entry.measured, entry.fixed)
        if isinstance(entry, Cause)
        else (entry.meaning, entry.measured)
    )
    assert 3 <= len(entry.title) <= 60
    assert not entry.title.endswith(".")
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert text[0].isupper() or text.startswith(("bf16", "cuda", "num_workers", "pin_memory", "torch"))
        assert text.endswith((".", ")."))
        assert "  " not in text


@pytest.mark.parametrize("entry", [*CAUSES, *EVIDENCE], ids=lambda entry: entry.word)
def test_words_that_a_text_refers_to_exist(entry: Cause | Finding) -> None:
    for field in entry.__struct_fields__:
        for word in re.findall(r"`([a-z_.]+)`", getattr(entry, field)):
            assert word in (*CAUSE_WORDS, *EVIDENCE_WORDS), word
