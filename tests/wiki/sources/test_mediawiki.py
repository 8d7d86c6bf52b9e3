"""What a real MediaWiki's titles lead to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ramet.wiki.pages import Markup, Page, Refusal, RefusalReason
from ramet.wiki.sources.base import SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.mediawiki_pages import (
    ATLAS,
    DECOMPOSED,
    HUB_CATEGORIES,
    HUB_LINKS,
    texts,
    village,
)

pytest.importorskip("httpcore2", reason="the extra [wiki] is not installed")

HERE = SourceOptions(private=True)


@pytest.fixture
async def source(mediawiki: MediaWiki) -> AsyncIterator[MediaWikiSource]:
    source = MediaWikiSource(mediawiki.api, HERE)
    yield source
    await source.close()


async def page(source: MediaWikiSource, title: str) -> Page:
    found = (await source.pages([title]))[title]
    assert isinstance(found, Page), found
    return found


async def test_a_page_comes_with_its_text_and_all_that_the_wiki_says_of_it(
    source: MediaWikiSource, mediawiki: MediaWiki
) -> None:
    found = await page(source, "Ferry crossing")
    assert found.text == texts()["Ferry crossing"]
    assert (found.title, found.key, found.markup) == ("Ferry crossing", "Ferry crossing", Markup.WIKITEXT)
    assert found.categories == ("Islands", "Pages with a foot")
    assert found.links is None
    assert found.disambiguation is False
    assert found.aliases == ()
    assert found.url == f"{mediawiki.address}index.php?title=Ferry_crossing"
    [shown] = mediawiki.query("action=query&prop=info&titles=Ferry%20crossing")["query"]["pages"]
    assert found.revision == str(shown["lastrevid"])


@pytest.mark.parametrize(
    ("asked", "title", "aliases"),
    [
        ("ferry_crossing", "Ferry crossing", ()),
        ("  Ferry  crossing#Fares", "Ferry crossing", ()),
        (DECOMPOSED, "Møllerå Havn", ()),
        ("møllerå_Havn", "Møllerå Havn", ()),
        ("Old ferry", "Ferry crossing", ("Old ferry",)),
        ("oldest_ferry", "Ferry crossing", ("Oldest ferry", "Old ferry")),
        ("Ferry timetable", "Ferry crossing", ("Ferry timetable",)),
        ("C & friends?", "C & friends?", ()),
        ("North/South", "North/South", ()),
        ('Peter\'s "Rest"', 'Peter\'s "Rest"', ()),
        ("a", "A", ()),
        ("Blank page", "Blank page", ()),
        ("Broken", "Broken", ()),
    ],
)
async def test_a_title_leads_to_its_page_in_whatever_spelling(
    source: MediaWikiSource, asked: str, title: str, aliases: tuple[str, ...]
) -> None:
    found = await page(source, asked)
    assert (found.title, found.key, found.aliases) == (title, title, aliases)
    assert found.text == texts()[title]


@pytest.mark.parametrize(
    ("asked", "reason", "names"),
    [
        ("A page that nobody wrote", RefusalReason.NOT_FOUND, "A page that nobody wrote"),
        ("To nowhere", RefusalReason.NOT_FOUND, "A page that nobody wrote"),
        ("Bad[title]", RefusalReason.INVALID_TITLE, "invalid characters"),
        ("Peter%27s", RefusalReason.INVALID_TITLE, "invalid characters"),
        ("One|Two", RefusalReason.INVALID_TITLE, "One|Two"),
        ("é" * 128, RefusalReason.INVALID_TITLE, "255 bytes"),
        (" #here", RefusalReason.INVALID_TITLE, "empty"),
        (":", RefusalReason.INVALID_TITLE, "empty"),
        ("Tab\tand\x00nul", RefusalReason.INVALID_TITLE, "character"),
        ("No \uffff character", RefusalReason.INVALID_TITLE, "character"),
        ("Half \ud800 a pair", RefusalReason.INVALID_TITLE, "character"),
        ("Round A", RefusalReason.REDIRECT_LOOP, "'Round A' -> 'Round B' -> 'Round A'"),
        ("Own tail", RefusalReason.REDIRECT_LOOP, "'Own tail' -> 'Own tail'"),
        (
            "Into the ring",
            RefusalReason.REDIRECT_LOOP,
            "'Into the ring' -> 'Long ring 2' -> 'Long ring 3' -> 'Long ring 1' -> 'Long ring 2'",
        ),
        ("Abroad", RefusalReason.ELSEWHERE, "wikipedia:Sound (geography)"),
        ("wikipedia:Sound", RefusalReason.ELSEWHERE, "wikipedia:Sound"),
        ("The islands", RefusalReason.NOT_AN_ARTICLE, "Category:Islands"),
        ("category:islands", RefusalReason.NOT_AN_ARTICLE, "Category:Islands"),
        ("Talk:Ferry crossing", RefusalReason.NOT_AN_ARTICLE, "Talk:Ferry crossing"),
        ("Special:Random", RefusalReason.NOT_AN_ARTICLE, "Special:Random"),
    ],
)
async def test_a_title_that_leads_to_no_article_is_refused_with_the_reason(
    source: MediaWikiSource, asked: str, reason: RefusalReason, names: str
) -> None:
    found = (await source.pages([asked]))[asked]
    assert isinstance(found, Refusal)
    assert found.reason == reason
    assert names in found.detail
    assert "\n" not in found.detail


async def test_a_disambiguation_page_is_told_by_its_property(source: MediaWikiSource) -> None:
    assert (await page(source, "Bell (disambiguation)")).disambiguation is True


async def test_hidden_categories_are_left_out(source: MediaWikiSource) -> None:
    assert (await page(source, "Kept apart")).categories == ()


async def test_what_the_wiki_sends_in_parts_is_put_together(mediawiki: MediaWiki) -> None:
    source = MediaWikiSource(mediawiki.api, SourceOptions(private=True, links="all"))
    found = await source.pages(["Harbour list", "Ferry crossing", ATLAS])
    await source.close()
    hub, ferry = found["Harbour list"], found["Ferry crossing"]
    assert isinstance(hub, Page)
    assert isinstance(ferry, Page)
    assert hub.text == texts()["Harbour list"]
    assert hub.links == tuple(f"Berth {number:04}" for number in range(HUB_LINKS))
    assert sorted(hub.categories or ()) == sorted(f"Berths {number}" for number in range(HUB_CATEGORIES))
    assert "Seen on every page" in (ferry.links or ())
    assert "Only for writers" not in (ferry.links or ())
    assert len(mediawiki.asked()) > 2


async def test_fifty_titles_are_one_call_and_each_is_answered(source: MediaWikiSource, mediawiki: MediaWiki) -> None:
    asked = [village(number) for number in range(47)] + ["Old ferry", "Round A", "Nobody"]
    await source.site()
    mediawiki.forget()
    found = await source.pages(asked)
    assert set(found) == set(asked)
    assert [type(found[title]) for title in asked] == [Page] * 48 + [Refusal] * 2
    assert all(found[title].text == texts()[title] for title in asked[:47])  # type: ignore[union-attr]
    [call] = mediawiki.asked()
    assert call.method == "POST" or len("|".join(asked)) < 2000
    assert set(call.titles) == set(asked)


async def test_titles_that_mean_the_same_page_are_asked_for_once(source: MediaWikiSource, mediawiki: MediaWiki) -> None:
    await source.site()
    mediawiki.forget()
    found = await source.pages(["Village 007", "Village_007", "Village 007#History"])
    assert len(found) == 3
    assert len(set(found.values())) == 1
    assert [call.titles for call in mediawiki.asked()] == [["Village 007"]]


async def test_the_site_says_how_its_titles_are_read(source: MediaWikiSource) -> None:
    site = await source.site()
    assert site.name == "Wiki"
    assert site.namespaces["category"] == 14
    assert site.namespaces["image talk"] == 7
    assert "wikipedia" in site.interwiki
    assert site.capital_first
    assert "#redirect" in site.redirect_words
    assert source.attribution == "Wiki: A licence of the tests"
    assert source.resource == f"host:{source.name}"


async def test_revisions_are_told_without_texts_and_a_redirect_has_none(source: MediaWikiSource) -> None:
    found = await source.revisions(["Village 001", "Old ferry", "Nobody", "Bad[title]"])
    assert found["Village 001"] == (await page(source, "Village 001")).revision
    reasons = {title: answer.reason for title, answer in found.items() if isinstance(answer, Refusal)}
    assert reasons == {
        "Old ferry": RefusalReason.NOT_FOUND,
        "Nobody": RefusalReason.NOT_FOUND,
        "Bad[title]": RefusalReason.INVALID_TITLE,
    }


@pytest.mark.network
@pytest.mark.process
async def test_an_edited_page_has_another_revision(mediawiki_to_edit: MediaWiki) -> None:
    source = MediaWikiSource(mediawiki_to_edit.api, HERE)
    before = (await source.revisions(["Village 001"]))["Village 001"]
    mediawiki_to_edit.edit("Village 001", "It was flooded.")
    after = await page(source, "Village 001")
    await source.close()
    assert after.text == "It was flooded."
    assert after.revision != before


async def test_a_person_means_an_article_by_its_title_and_is_offered_others(source: MediaWikiSource) -> None:
    assert await source.resolve("oldest ferry") == "Ferry crossing"
    assert await source.resolve("Round A") is None
    assert await source.resolve("Nobody") is None
    assert await source.resolve("[") is None
    assert len(await source.suggest("Village 00")) == 3
    assert "Ferry crossing" in await source.suggest("crossing")
    assert await source.suggest("|") == ()
