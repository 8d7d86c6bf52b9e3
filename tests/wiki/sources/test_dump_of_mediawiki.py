"""A real MediaWiki through its API, and through the dump that it writes itself: every title leads to the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ramet.wiki.pages import Article, Page, Refusal
from ramet.wiki.sources.base import TITLES_MAX, ArticleSource, SourceOptions
from ramet.wiki.sources.registry import open_source
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.mediawiki_pages import texts

pytestmark = [pytest.mark.network, pytest.mark.process]

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


async def asked(source: ArticleSource) -> dict[str, Page | Refusal | Exception]:
    titles = [*texts(), *ODD]
    found: dict[str, Page | Refusal | Exception] = {}
    for start in range(0, len(titles), TITLES_MAX):
        found |= await source.pages(titles[start : start + TITLES_MAX])
    return found


async def parsed(source: ArticleSource) -> dict[str, Article | Refusal]:
    site = await source.site()
    pages = {title: answer for title, answer in (await asked(source)).items() if isinstance(answer, Page)}
    return {title: parse_page(page, site, ParseOptions()) for title, page in pages.items()}


async def test_a_dump_leads_where_the_wiki_leads(mediawiki_to_edit: MediaWiki, tmp_path: Path) -> None:
    mediawiki_to_edit.edit("Village 007", "It was written again. [[Village 008]]")
    path = tmp_path / "wiki.xml"
    path.write_text(mediawiki_to_edit.dump(), encoding="utf-8")
    dump = open_source(str(path), tmp_path)
    wiki = open_source(mediawiki_to_edit.api, tmp_path, SourceOptions(private=True))
    by_api = {title: summary(answer) for title, answer in (await asked(wiki)).items()}
    by_dump = {title: summary(answer) for title, answer in (await asked(dump)).items()}
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


async def test_an_article_out_of_a_dump_is_the_wikis_but_for_what_templates_bring_in(
    mediawiki: MediaWiki, tmp_path: Path
) -> None:
    path = tmp_path / "wiki.xml"
    path.write_text(mediawiki.dump(), encoding="utf-8")
    dump = open_source(str(path), tmp_path)
    wiki = open_source(mediawiki.api, tmp_path, SourceOptions(private=True))
    by_api, by_dump = await parsed(wiki), await parsed(dump)
    assert by_api.keys() == by_dump.keys()
    for title, article in by_dump.items():
        other = by_api[title]
        if isinstance(article, Refusal):
            assert isinstance(other, Refusal)
            assert article.reason == other.reason
        else:
            assert isinstance(other, Article)
            # A dump cannot say that its wiki has no prefix for French: without such a page it is taken for one, whose
            # links stand beside an article and not in its text.
            links = tuple(link for link in other.links or () if link != "Fr:Bac")
            sections = tuple(replace(section, text=section.text.replace(" fr:Bac", "")) for section in other.sections)
            assert (article.key, article.sections, article.links) == (other.key, sections, links)
            assert set(other.categories) - set(article.categories) <= {"Pages with a foot"}
            assert set(article.categories) <= set(other.categories)
    await wiki.close()
    await dump.close()
