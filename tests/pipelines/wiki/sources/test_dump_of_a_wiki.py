"""A real MediaWiki through its API, and through the dump that it writes itself: every title leads to the same."""

from __future__ import annotations

from pathlib import Path

from ramet.pipelines.wiki.pages import Page, Refusal
from ramet.pipelines.wiki.sources.base import TITLES_MAX, ArticleSource, SourceOptions
from ramet.pipelines.wiki.sources.opening import open_source
from tests.pipelines.wiki.mediawiki import MediaWiki
from tests.pipelines.wiki.mediawiki_pages import texts

ODD = [
    "round_A",
    "lower case",
    "atlas_of the  Sound",
    "Nobody wrote this",
    "Bad[title]",
    "Category:Islands",
]


def summary(answer: Page | Refusal | Exception) -> tuple[str, ...]:
    """What the two must agree on: a dump has no page properties, and words its refusals in its own way."""
    assert not isinstance(answer, Exception)
    if isinstance(answer, Refusal):
        return (answer.reason.value,)
    return (answer.title, answer.key, answer.text, answer.revision, *answer.aliases)


async def asked(source: ArticleSource) -> dict[str, tuple[str, ...]]:
    titles = [*texts(), *ODD]
    found: dict[str, tuple[str, ...]] = {}
    for start in range(0, len(titles), TITLES_MAX):
        answers = await source.pages(titles[start : start + TITLES_MAX])
        found |= {title: summary(answer) for title, answer in answers.items()}
    return found


async def test_a_dump_leads_where_the_wiki_leads(mediawiki_to_edit: MediaWiki, tmp_path: Path) -> None:
    mediawiki_to_edit.edit("Village 007", "It was written again. [[Village 008]]")
    path = tmp_path / "wiki.xml"
    path.write_text(mediawiki_to_edit.dump(), encoding="utf-8")
    dump = open_source(str(path), tmp_path)
    wiki = open_source(mediawiki_to_edit.api, tmp_path, SourceOptions(private=True))
    by_api, by_dump = await asked(wiki), await asked(dump)
    assert by_dump == by_api
    assert by_dump["Village 007"][2].startswith("It was written again.")
    assert {answer[0] for answer in by_dump.values() if len(answer) == 1} == {
        "redirect_loop",
        "not_found",
        "elsewhere",
        "not_an_article",
        "invalid_title",
    }
    told, stated = await dump.site(), await wiki.site()
    assert (told.name, told.capital_first) == (stated.name, stated.capital_first)
    assert told.namespaces.items() <= stated.namespaces.items()
    assert told.disambiguation_templates == {"Either"}
    assert told.hidden_categories == {"Checked by hand"}
    await wiki.close()
    await dump.close()
