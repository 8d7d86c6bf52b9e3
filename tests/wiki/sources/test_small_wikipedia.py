"""A whole small Wikipedia: by JSON Lines and by a dump the same, and as a plain count over its records has it."""

from __future__ import annotations

import bz2
import re
from pathlib import Path

import pytest

from ramet.wiki.pages import Page, Refusal, RefusalReason
from ramet.wiki.sources.base import TITLES_MAX, ArticleSource
from ramet.wiki.sources.registry import open_source
from tests.wiki.small_wikipedia import CORPUS, REDIRECT, as_export, follow, records, texts
from tests.wiki.sources.export_files import HEADLESS

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not CORPUS.is_file(), reason="the shared wiki corpus is not beside this repository"),
]


async def everything(source: ArticleSource) -> dict[str, Page | Refusal]:
    """What every title of the corpus leads to, and some that it does not have."""
    titles = [record["title"] for record in records()] + [f"No such page {number}" for number in range(3)]
    found: dict[str, Page | Refusal] = {}
    for start in range(0, len(titles), TITLES_MAX):
        for title, answer in (await source.pages(titles[start : start + TITLES_MAX])).items():
            assert not isinstance(answer, Exception)
            found[title] = answer
    return found


def told(answers: dict[str, Page | Refusal]) -> dict[str, str]:
    """The answers, without the names of the files that gave them."""
    return {
        title: re.sub(r"isles\.xml(\.bz2)?|ltgwiki\.jsonl", "FILE", str(answer)) for title, answer in answers.items()
    }


async def test_by_json_lines_by_a_dump_and_by_a_packed_dump_it_is_the_same(tmp_path: Path) -> None:
    lines = open_source(str(CORPUS), tmp_path)
    dump = as_export(tmp_path / "isles.xml", head=HEADLESS)
    packed = tmp_path / "isles.xml.bz2"
    packed.write_bytes(bz2.compress(dump.read_bytes()))
    wanted, site = told(await everything(lines)), await lines.site()
    assert len(wanted) == len(records()) + 3
    for path in (dump, packed):
        source = open_source(str(path), tmp_path)
        assert told(await everything(source)) == wanted
        other = await source.site()
        assert (other.namespaces, other.interwiki) == (site.namespaces, site.interwiki)
        assert other.disambiguation_templates == site.disambiguation_templates
        assert other.hidden_categories == site.hidden_categories


async def test_what_a_dump_states_of_its_wiki_settles_what_titles_alone_cannot(tmp_path: Path) -> None:
    lines = await everything(open_source(str(CORPUS), tmp_path))
    dump = await everything(open_source(str(as_export(tmp_path / "isles.xml")), tmp_path))
    differing = {title for title, answer in dump.items() if kind(answer) != kind(lines[title])}
    to_project = {
        record["title"]
        for record in records()
        if record["ns"] == 0 and (record["redirect"] or "").startswith("Vikipedeja:")
    }
    assert differing == to_project
    assert {kind(dump[title]) for title in to_project} == {RefusalReason.NOT_AN_ARTICLE}
    assert {kind(lines[title]) for title in to_project} == {RefusalReason.NOT_FOUND}


def kind(answer: Page | Refusal) -> str | tuple[str, ...]:
    return answer.reason if isinstance(answer, Refusal) else (answer.key, *answer.aliases, answer.text)


@pytest.mark.parametrize("form", ["JSON Lines", "dump"])
async def test_every_article_and_alias_is_as_counted(tmp_path: Path, form: str) -> None:
    path = CORPUS if form == "JSON Lines" else as_export(tmp_path / "isles.xml")
    found = await everything(open_source(str(path), tmp_path))
    articles = {title for title, text in texts().items() if not REDIRECT.match(text)}
    assert len(articles) == 903
    for title in articles:
        answer = found[title]
        assert isinstance(answer, Page)
        assert (answer.title, answer.text, answer.aliases) == (title, texts()[title], ())
    ends = {title: follow(title) for title in texts().keys() - articles}
    for title, chain in ends.items():
        answer = found[title]
        if chain[-1] in articles:
            assert isinstance(answer, Page)
            assert [*answer.aliases, answer.title] == chain
        else:
            assert isinstance(answer, Refusal)
            assert answer.reason in {RefusalReason.NOT_AN_ARTICLE, RefusalReason.NOT_FOUND}
    assert sum(chain[-1] in articles for chain in ends.values()) == 141
    others = [record["title"] for record in records() if record["ns"] != 0]
    assert {kind(found[title]) for title in others} == {RefusalReason.NOT_AN_ARTICLE}
