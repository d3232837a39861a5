"""The notebook's fragment: self-contained, and safe whatever a trace is called."""

from __future__ import annotations

import html.parser

import longpole
from longpole.render import notebook
from longpole.verdict import Verdict


class Reader(html.parser.HTMLParser):
    """Collects tags and text, and checks that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(fragment: str) -> Reader:
    reader = Reader()
    reader.feed(fragment)
    reader.close()
    assert reader.open == []
    return reader


def test_a_fragment_is_a_few_tags_and_their_styles(verdict: Verdict) -> None:
    reader = read(notebook.render(verdict))
    assert reader.tags <= {"div", "table", "tr", "th", "td", "ul", "li"}
    assert reader.attributes <= {"style"}


def test_hostile_names_stay_text(verdicts: dict[str, Verdict]) -> None:
    fragment = notebook.render(verdicts["hostile"])
    assert "</script>" not in fragment
    assert "</script>" in read(fragment).text
    fragment.encode("utf-8")
    assert fragment.isprintable()


def test_it_says_what_the_page_says(verdicts: dict[str, Verdict]) -> None:
    text = read(notebook.render(verdicts["fed_badly"])).text
    assert "input.cpu binds: 61 % of the wall-clock" in text
    assert "even infinitely fast kernels would give 1.28x" in text
    assert "raise num_workers from 2 to 8 (minutes, at most 2.6x)" in text


def test_a_notebook_shows_it_by_itself(verdicts: dict[str, Verdict]) -> None:
    assert longpole.Verdict is Verdict
    assert verdicts["fed_badly"]._repr_html_() == notebook.render(verdicts["fed_badly"])
