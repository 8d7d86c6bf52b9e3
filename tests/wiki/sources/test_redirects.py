"""Whatever redirects to whatever: every title ends where a simple walk ends, and nothing turns in circles."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Page, Refusal, RefusalReason
from ramet.wiki.sources.json_lines import open_json_lines
from ramet.wiki.sources.page_file import PageWriter
from ramet.wiki.sources.site_notes import SiteNotes
from ramet.wiki.sqlite_file import SqliteFile
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import WikiTitle

TITLES = "ABCDEF"


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(TITLES), st.sampled_from([None, *TITLES]), min_size=1))
def test_every_title_ends_where_a_simple_walk_ends(targets: dict[str, str | None]) -> None:
    records = (
        {"title": title, "ns": 0, "wikitext": f"#REDIRECT [[{target}]]" if target else "text"}
        for title, target in targets.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.jsonl"
        path.write_text("\n".join(map(json.dumps, records)))
        source = open_json_lines(path, Path(folder))
        found = asyncio.run(source.pages(TITLES))
        meant = {title: asyncio.run(source.resolve(title.lower())) for title in TITLES}
        asyncio.run(source.close())
    for title in TITLES:
        answer = found[title]
        end, chain = walk(title, targets)
        assert meant[title] == (None if isinstance(end, RefusalReason) else end)
        if isinstance(end, RefusalReason):
            assert isinstance(answer, Refusal)
            assert answer.reason == end
        else:
            assert isinstance(answer, Page)
            assert (answer.title, list(answer.aliases)) == (end, chain)


def walk(title: str, targets: dict[str, str | None]) -> tuple[str | RefusalReason, list[str]]:
    """Where a title leads, and the redirects on the way."""
    chain: list[str] = []
    while True:
        if title in chain:
            return RefusalReason.REDIRECT_LOOP, chain
        if title not in targets:
            return RefusalReason.NOT_FOUND, chain
        target = targets[title]
        if target is None:
            return title, chain
        chain.append(title)
        title = target


PIECES = st.sampled_from(
    ["{{", "}}", "{", "}", "|", "X", "__HIDDENCAT__", "<nowiki>", "</nowiki>", "<!--", "[[A:b.png", "\n"]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from([0, 10, 14]))
def test_any_text_can_be_taken_note_of(text: str, namespace: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = SqliteFile(Path(folder) / "x", failure=SourceError)
        writer = PageWriter(file)
        notes = SiteNotes(writer, Site("x"))
        notes.note(WikiTitle(namespace, "T"), text, None)
        assert list(writer.sort()) == []
        hidden = notes.finish().hidden_categories
        file.close()
    assert hidden <= {"T"}
    if "__HIDDENCAT__" not in text:
        assert not hidden
    if namespace == 14 and text == "__HIDDENCAT__":
        assert hidden


HOSTILE = [
    "{{",
    "}}",
    "{{a}}",
    "<nowiki>",
    "<nowiki ",
    "<!--",
    "<noinclude>",
    "[[a:",
    "[[ a:b.png",
    "#redirect [[",
    " ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_repetition_is_looked_through_again_and_again(tmp_path: Path, piece: str) -> None:
    """Where it was, this would take hours; pytest's own limit ends it."""
    file = SqliteFile(tmp_path / "x", failure=SourceError)
    notes = SiteNotes(PageWriter(file), Site("x"))
    for namespace in (0, 10, 14):
        notes.note(WikiTitle(namespace, "T"), piece * (1_000_000 // len(piece)), None)
    file.close()


def test_the_namespaces_that_titles_tell_of_have_an_end(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps({"title": f"N{i}:x", "ns": 100, "wikitext": ""}) + "\n" for i in range(2_000)))
    with pytest.raises(SourceError, match="the name of yet another namespace, after 1,000"):
        open_json_lines(path, tmp_path)
