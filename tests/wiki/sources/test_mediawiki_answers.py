"""Answers that a real MediaWiki gives seldom, or that only a server which means harm gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ramet import RetryAfter, Transient
from ramet.wiki.errors import SourceError, WikiError
from ramet.wiki.pages import Page, Refusal, RefusalReason
from ramet.wiki.sources import mediawiki, mediawiki_calls
from ramet.wiki.sources.base import SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource
from ramet.wiki.sources.mediawiki_calls import BUSY_SECONDS
from tests.fetch.hostile_server import Hostile, Play, answers
from tests.wiki.fake_wiki import FakeWiki

pytestmark = pytest.mark.network

pytest.importorskip("httpcore2", reason="the extra [wiki] is not installed")

TEXTS = {"One": "first", "Two": "second", "Three": "third", "Four": "fourth"}
HERE = SourceOptions(private=True)


async def no_pause(_: float) -> None:
    await asyncio.sleep(0)


class Scripted(FakeWiki):
    """Says what a test wants of each call for pages."""

    def __init__(self) -> None:
        super().__init__(TEXTS)
        self.script: list[Play] = []

    def play(self, titles: list[str]) -> Play:
        return self.script.pop(0) if self.script else super().play(titles)


@pytest.fixture
async def wiki() -> AsyncIterator[tuple[Scripted, MediaWikiSource, Hostile]]:
    scripted = Scripted()
    async with Hostile(scripted) as server:
        source = MediaWikiSource(server.api, HERE, sleep=no_pause)
        await source.site()
        yield scripted, source, server
        await source.close()


Wiki = tuple[Scripted, MediaWikiSource, Hostile]


async def test_a_wiki_that_follows_one_redirect_a_call_is_asked_again(wiki: Wiki) -> None:
    scripted, source, _ = wiki
    half_way = {"ns": 0, "pageid": 9, "title": "B", "redirect": True, "revisions": []}
    scripted.script = [
        answers({"query": {"redirects": [{"from": "A", "to": "B"}], "pages": [half_way, scripted.record(1, "Two")]}}),
        answers({"query": {"redirects": [{"from": "B", "to": "One"}], "pages": [scripted.record(1, "One")]}}),
    ]
    found = await source.pages(["A", "Two"])
    one = found["A"]
    assert isinstance(one, Page)
    assert (one.title, one.aliases) == ("One", ("A", "B"))
    assert isinstance(found["Two"], Page)
    assert scripted.calls == [["A", "Two"], ["B"]]


async def test_a_ring_is_found_over_several_calls(wiki: Wiki) -> None:
    scripted, source, _ = wiki

    def hop(start: str, end: str) -> Play:
        page = {"ns": 0, "pageid": 9, "title": end, "redirect": True}
        return answers({"query": {"redirects": [{"from": start, "to": end}], "pages": [page]}})

    scripted.script = [hop("A", "B"), hop("B", "C"), hop("C", "A"), hop("A", "B")]
    found = (await source.pages(["A"]))["A"]
    assert found == Refusal(RefusalReason.REDIRECT_LOOP, "'A' -> 'B' -> 'C' -> 'A'")


async def test_a_redirect_that_the_wiki_does_not_follow_is_no_article(wiki: Wiki) -> None:
    scripted, source, _ = wiki
    scripted.script = [answers({"query": {"pages": [{"ns": 0, "pageid": 9, "title": "A", "redirect": True}]}})]
    found = (await source.pages(["A"]))["A"]
    assert isinstance(found, Refusal)
    assert found.reason == RefusalReason.NOT_FOUND


async def test_nothing_is_believed_of_an_answer_that_was_not_continued_to_its_end(wiki: Wiki) -> None:
    scripted, source, _ = wiki
    part = {**scripted.answer(["One"]), "continue": {"clcontinue": "1|x", "continue": "||"}}
    broken = [answers("ill", 500)] * 6
    scripted.script = [answers(part), *broken]
    with pytest.raises(Transient):
        await source.pages(["One"])


async def test_lists_of_a_continued_answer_are_joined_and_its_text_is_kept(wiki: Wiki) -> None:
    scripted, source, server = wiki
    first = scripted.answer(["One", "Two"])
    first["query"]["pages"][0]["categories"] = [{"title": "Category:A"}]
    first["continue"] = {"clcontinue": "1|B", "continue": "||revisions"}
    second = {"ns": 0, "pageid": 1, "title": "One", "categories": [{"title": "Category:B"}, {"title": "Category:A"}]}
    scripted.script = [answers(first), answers({"query": {"pages": [second]}})]
    one = (await source.pages(["One", "Two"]))["One"]
    assert isinstance(one, Page)
    assert (one.text, one.categories) == ("first", ("A", "B"))
    assert server.requests[-1].parameters["clcontinue"] == "1|B"


@pytest.mark.parametrize(
    ("stated", "place"),
    [
        ([{"lat": 52.52, "lon": 13, "primary": True, "globe": "earth"}], (52.52, 13.0)),
        ([{"lat": 1, "lon": 1, "primary": False}, {"lat": 2, "lon": 3}], (2.0, 3.0)),
        ([{"lat": 91, "lon": 0}, {"lat": 10**400, "lon": 0}, {"lat": "1", "lon": 2}, {"lat": None}], (None, None)),
        ("nothing", (None, None)),
    ],
)
async def test_a_page_has_the_place_and_the_item_that_the_wiki_states(
    wiki: Wiki, stated: Any, place: tuple[float | None, float | None]
) -> None:
    scripted, source, server = wiki
    answer = scripted.answer(["One"])
    answer["query"]["pages"][0].update({"coordinates": stated, "pageprops": {"wikibase_item": "Q64"}})
    scripted.script = [answers(answer)]
    found = (await source.pages(["One"]))["One"]
    assert isinstance(found, Page)
    assert (found.latitude, found.longitude, found.wikidata) == (*place, "Q64")
    assert "coordinates" in server.requests[-1].parameters["prop"].split("|")


async def test_an_answer_that_is_continued_for_ever_ends(wiki: Wiki) -> None:
    scripted, source, server = wiki
    again = answers({**scripted.answer(["One"]), "continue": {"continue": "-||"}})
    scripted.script = [again] * 1_000
    with pytest.raises(Transient, match="continued before"):
        await source.pages(["One"])
    assert len(server.requests) < 10


async def test_a_page_that_is_continued_in_ever_new_parts_is_refused_alone(
    wiki: Wiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(FakeWiki):
        def answer(self, titles: list[str]) -> Any:
            parts = {"continue": {"plcontinue": str(len(self.calls)), "continue": "||"}} if "Two" in titles else {}
            return {**super().answer(titles), **parts}

    monkeypatch.setattr(mediawiki_calls, "ROUNDS_MAX", 5)
    _, source, server = wiki
    server.play = Endless(TEXTS)
    found = await source.pages(list(TEXTS))
    refused = {title: page.reason for title, page in found.items() if isinstance(page, Refusal)}
    assert refused == {"Two": RefusalReason.TOO_LARGE}
    assert sum(isinstance(page, Page) for page in found.values()) == 3


async def test_a_batch_that_takes_too_long_is_not_divided_further(wiki: Wiki, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted, source, _ = wiki
    monkeypatch.setattr(mediawiki, "BATCH_SECONDS", 0.0)
    scripted.script = [answers("ill", 500)] * 100
    with pytest.raises(Transient):
        await source.pages(list(TEXTS))
    assert all(len(call) == len(TEXTS) for call in scripted.calls)


async def test_a_page_of_fifty_megabytes_is_refused_and_its_neighbours_are_not(wiki: Wiki) -> None:
    scripted, source, _ = wiki
    scripted.pages["Two"] = "x" * 50_000_000
    scripted.pages["Three"] = "x" * 4_194_305
    found = await source.pages(list(TEXTS))
    reasons = {title: page.reason for title, page in found.items() if isinstance(page, Refusal)}
    assert reasons == {"Two": RefusalReason.TOO_LARGE, "Three": RefusalReason.TOO_LARGE}
    assert isinstance(found["One"], Page)
    assert isinstance(found["Four"], Page)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"revisions": [{"revid": 1, "slots": {"main": {"contentmodel": "json", "content": "{}"}}}]},
            RefusalReason.UNPARSABLE,
        ),
        (
            {"revisions": [{"revid": 1, "slots": {"main": {"contentmodel": "wikitext", "texthidden": True}}}]},
            RefusalReason.UNPARSABLE,
        ),
        ({"ns": 2}, RefusalReason.NOT_AN_ARTICLE),
        ({"ns": "0"}, RefusalReason.NOT_AN_ARTICLE),
    ],
    ids=["model", "hidden", "namespace", "no number"],
)
async def test_what_is_no_readable_article_is_refused(
    wiki: Wiki, change: dict[str, Any], reason: RefusalReason
) -> None:
    scripted, source, _ = wiki
    scripted.script = [answers({"query": {"pages": [{**scripted.record(1, "One"), **change}]}})]
    found = (await source.pages(["One"]))["One"]
    assert isinstance(found, Refusal)
    assert found.reason == reason


async def test_a_wiki_of_before_slots_is_read_as_well(wiki: Wiki) -> None:
    scripted, source, _ = wiki
    old = {
        "ns": 0,
        "pageid": 1,
        "title": "One",
        "revisions": [{"revid": 5, "content": "old", "contentmodel": "wikitext"}],
    }
    scripted.script = [answers({"query": {"pages": [old]}})]
    one = (await source.pages(["One"]))["One"]
    assert isinstance(one, Page)
    assert (one.text, one.revision, one.disambiguation) == ("old", "5", None)


async def test_text_that_no_database_takes_is_made_storable(wiki: Wiki) -> None:
    scripted, source, _ = wiki
    scripted.pages["One"] = "half \ud800 a pair and \0"
    one = (await source.pages(["One"]))["One"]
    assert isinstance(one, Page)
    assert one.text == "half ? a pair and \ufffd"


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"query": []},
        {"query": {"pages": "none"}},
        {"query": {"pages": [[], 1, None, {"title": 7}]}},
        {"query": {"pages": [{"title": "One", "ns": 0, "revisions": {"0": 1}}]}},
        {"query": {"redirects": [{"to": "x"}], "normalized": [{"from": "One", "to": "One"}], "pages": []}},
        {"query": {"normalized": [{"from": "One", "to": "Uno"}, {"from": "Uno", "to": "One"}]}},
        '{"query": {"pages": ' + "[" * 100_000,
        "<html>maintenance</html>",
        b"\xff\xfe",
        "",
    ],
    ids=range(12),
)
async def test_an_answer_that_makes_no_sense_may_get_better(wiki: Wiki, data: Any) -> None:
    scripted, source, _ = wiki
    scripted.script = [answers(data)] * 10
    with pytest.raises(Transient) as raised:
        await source.pages(["One"])
    assert "\n" not in str(raised.value)


async def test_another_type_than_json_is_not_read(wiki: Wiki) -> None:
    scripted, source, _ = wiki
    scripted.script = [answers(scripted.answer(["One"]), Content_Type="text/html")] * 10
    with pytest.raises(Transient, match="text/html"):
        await source.pages(["One"])


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("maxlag", RetryAfter),
        ("ratelimited", RetryAfter),
        ("readonly", Transient),
        ("internal_api_error_DBQueryError", Transient),
        ("readapidenied", SourceError),
        ("badvalue", SourceError),
    ],
)
async def test_an_error_of_the_api_is_told_apart_by_its_code(wiki: Wiki, code: str, error: type[Exception]) -> None:
    scripted, source, _ = wiki
    scripted.script = [answers({"error": {"code": code, "info": "two\nlines"}})] * 10
    with pytest.raises(error) as raised:
        await source.pages(["One"])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("status", "error"), [(403, SourceError), (401, SourceError), (404, Transient), (418, Transient)]
)
async def test_a_status_that_no_api_gives_is_judged(wiki: Wiki, status: int, error: type[Exception]) -> None:
    scripted, source, _ = wiki
    scripted.script = [answers("no", status, Content_Type="text/plain")] * 10
    with pytest.raises(error, match=str(status)):
        await source.pages(["One"])


async def test_a_busy_server_that_names_no_time_is_left_alone_for_longer_each_time(wiki: Wiki) -> None:
    scripted, source, _ = wiki
    waited = []
    for _ in range(12):
        scripted.script = [answers("busy", 429)]
        with pytest.raises(RetryAfter) as raised:
            await source.pages(["One"])
        waited.append(raised.value.seconds)
    assert waited[:4] == [5.0, 10.0, 20.0, 40.0]
    assert waited[-1] == 3_600.0
    await source.pages(["One"])
    scripted.script = [answers("busy", 429)]
    with pytest.raises(RetryAfter, match="5 s"):
        await source.pages(["One"])


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("0", 1.0), ("17", 17.0), ("9" * 300, 3_600.0), ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600.0)],
)
async def test_the_time_that_a_server_names_is_kept_within_reason(wiki: Wiki, stated: str, seconds: float) -> None:
    scripted, source, _ = wiki
    scripted.script = [answers("busy", 503, Retry_After=stated)]
    with pytest.raises(RetryAfter) as raised:
        await source.pages(["One"])
    assert raised.value.seconds == seconds


@pytest.mark.parametrize("stated", ["", "soon", "nan", "inf", "1e300", "1.5", "-5", "99 99 99"])
async def test_a_time_that_is_none_is_as_good_as_no_header(wiki: Wiki, stated: str) -> None:
    scripted, source, _ = wiki
    scripted.script = [answers("busy", 429, Retry_After=stated)]
    with pytest.raises(RetryAfter) as raised:
        await source.pages(["One"])
    assert raised.value.seconds == BUSY_SECONDS


async def test_two_titles_that_break_the_server_are_both_found(wiki: Wiki) -> None:
    class Fragile(FakeWiki):
        def play(self, titles: list[str]) -> Play:
            return answers("ill", 500) if {"T07", "T31"} & set(titles) else super().play(titles)

    titles = [f"T{number:02}" for number in range(50)]
    _, source, server = wiki
    server.play = Fragile(dict.fromkeys(titles, "text"))
    found = await source.pages(titles)
    assert {title for title, page in found.items() if isinstance(page, Exception)} == {"T07", "T31"}
    assert sum(isinstance(page, Page) for page in found.values()) == 48


async def test_a_server_that_is_gone_is_not_asked_for_parts(wiki: Wiki) -> None:
    _, source, server = wiki
    await server.__aexit__(None, None, None)
    with pytest.raises(Transient, match="cannot be reached"):
        await source.pages(list(TEXTS))


async def test_a_call_ends_after_its_time_however_many_tries_are_left(
    wiki: Wiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted, source, _ = wiki
    monkeypatch.setattr(mediawiki_calls, "CALL_SECONDS", 1e-6)
    scripted.script = [answers("ill", 500)] * 10
    with pytest.raises(Transient):
        await source.pages(["One"])
    assert len(scripted.calls) <= 1


async def test_waiting_for_a_turn_takes_nothing_from_the_time_of_a_call(
    wiki: Wiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowGate:
        @asynccontextmanager
        async def request(self) -> AsyncIterator[None]:
            await asyncio.sleep(2.0)
            yield

    _, source, _ = wiki
    monkeypatch.setattr(mediawiki_calls, "CALL_SECONDS", 1.5)
    source.gate = SlowGate()
    assert isinstance((await source.pages(["One"]))["One"], Page)


@pytest.mark.parametrize("host", ["en.wikipedia.org", "WWW.Wikidata.ORG", "de.m.wiktionary.org.", "api.wikimedia.org"])
@pytest.mark.parametrize("agent", ["", "me", "mail me", "@"])
def test_wikimedia_is_not_asked_without_a_contact(host: str, agent: str) -> None:
    with pytest.raises(WikiError, match="contact"):
        MediaWikiSource(f"https://{host}/w/api.php", SourceOptions(user_agent=agent))


@pytest.mark.parametrize("agent", ["me@example.org", "my project; https://example.org/bot"])
async def test_a_contact_is_an_address_or_a_page(agent: str) -> None:
    source = MediaWikiSource("https://en.wikipedia.org/w/api.php", SourceOptions(user_agent=agent))
    assert source.resource == "host:en.wikipedia.org"
    await source.close()


async def test_other_wikis_need_no_contact() -> None:
    await MediaWikiSource("https://wiki.example/api.php", SourceOptions()).close()
