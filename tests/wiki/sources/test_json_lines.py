"""Files of JSON Lines: plain articles and a wiki's pages; a wrong line is named before any page is given."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Markup, Page, Refusal, RefusalReason
from ramet.wiki.sources import json_lines as module
from ramet.wiki.sources.json_lines import open_json_lines
from ramet.wiki.sources.page_source import PageFileSource
from tests.wiki.sources.export_files import json_lines

LAMPS: list[dict[str, Any]] = [
    {"title": "Lamp", "text": "A lamp burns oil.", "links": ["Oil", "Wick"], "categories": ["Things", " ", "Things"]},
    {"title": "Oil", "text": "Oil: see Wick, lamp.\n== Use ==\nLamps.", "links": None, "description": " a liquid "},
    {"title": "Wick <of> a lamp", "text": "Talk: Oil", "url": "https://lamps.example/wick"},
    {"title": "Talk: oil", "redirect": "OIL well"},
    {"title": "OIL well", "text": ""},
]


def lamps(tmp_path: Path) -> PageFileSource:
    return open_json_lines(json_lines(tmp_path / "lamps.jsonl", LAMPS), tmp_path)


async def ask(source: PageFileSource, title: str) -> Page | Refusal:
    found = (await source.pages([title]))[title]
    assert not isinstance(found, Exception)
    return found


async def test_plain_articles_say_what_they_state(tmp_path: Path) -> None:
    source = lamps(tmp_path)
    lamp, wick = await ask(source, "lamp"), await ask(source, "wick_<of> a lamp")
    assert isinstance(lamp, Page)
    assert isinstance(wick, Page)
    assert (lamp.title, lamp.key, lamp.markup, lamp.text) == ("Lamp", "Lamp", Markup.PLAIN, "A lamp burns oil.")
    assert (lamp.links, lamp.categories, lamp.disambiguation) == (("Oil", "Wick"), ("Things",), False)
    assert (wick.url, wick.description, wick.categories) == ("https://lamps.example/wick", "", ())
    assert lamp.revision != wick.revision


async def test_links_that_are_not_stated_are_the_titles_that_are_mentioned(tmp_path: Path) -> None:
    pytest.importorskip("ahocorasick", reason="the extra [wiki] is not installed")
    oil = await ask(lamps(tmp_path), "Oil")
    assert isinstance(oil, Page)
    assert (oil.links, oil.description) == (("Lamp",), "a liquid")


async def test_a_plain_title_is_a_text_as_it_stands_and_may_redirect(tmp_path: Path) -> None:
    source = lamps(tmp_path)
    found = await ask(source, "Talk: oil")
    assert isinstance(found, Page)
    assert (found.title, found.aliases) == ("OIL well", ("Talk: oil",))
    missing = await ask(source, "Category:Things")
    assert isinstance(missing, Refusal)
    assert missing.reason == RefusalReason.NOT_FOUND
    assert not (await source.site()).namespaces


async def test_a_revision_tells_whether_anything_has_changed(tmp_path: Path) -> None:
    before = await lamps(tmp_path).revisions(["Lamp", "Oil"])
    changed = [{**LAMPS[0], "links": ["Oil"]}, *LAMPS[1:]]
    after = await open_json_lines(json_lines(tmp_path / "lamps.jsonl", changed), tmp_path).revisions(["Lamp", "Oil"])
    assert before["Lamp"] != after["Lamp"]
    assert before["Oil"] == after["Oil"]


async def test_a_wikis_pages_tell_their_namespaces(tmp_path: Path) -> None:
    records = [
        {"title": "Ollo", "ns": 0, "redirect": None, "revid": 7, "timestamp": "2020", "wikitext": "[[Genus:Isles]]"},
        {"title": "Genus:Isles", "ns": 14, "wikitext": "__HIDDENCAT__"},
        {"title": "Forma:Dab", "ns": 10, "wikitext": "__DISAMBIG__"},
        {"title": "Isle", "ns": 0, "redirect": "Ollo", "wikitext": "#WEITERLEITUNG [[Ollo]]"},
        {"title": "Isles", "ns": 0, "redirect": "Genus:Isles"},
        {"title": "Ollo", "ns": 0, "revid": 8, "timestamp": "2021", "wikitext": "newer"},
    ]
    source = open_json_lines(json_lines(tmp_path / "isles.jsonl", records), tmp_path)
    site = await source.site()
    assert site.namespaces["genus"] == site.namespaces["category"] == 14
    assert site.hidden_categories == {"Isles"}
    assert site.disambiguation_templates == {"Dab"}
    found = await ask(source, "isle")
    assert found == Page("Ollo", "Ollo", Markup.WIKITEXT, "newer", "8", aliases=("Isle",))
    for title in ("Isles", "genus:Isles"):
        refused = await ask(source, title)
        assert isinstance(refused, Refusal)
        assert refused.reason == RefusalReason.NOT_AN_ARTICLE


async def test_a_file_is_the_same_packed_or_marked(tmp_path: Path) -> None:
    plain = lamps(tmp_path)
    content = (tmp_path / "lamps.jsonl").read_bytes()
    titles = ["Lamp", "Talk: oil", "Nothing"]
    wanted = [str(found) for found in (await plain.pages(titles)).values()]
    for name, other in (("packed", gzip.compress(content)), ("marked", b"\xef\xbb\xbf\n \n" + content)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "lamps.jsonl").write_bytes(other)
        source = open_json_lines(folder / "lamps.jsonl", tmp_path)
        assert [str(found) for found in (await source.pages(titles)).values()] == wanted


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Lamp", "Lamp"),
        (" LAMP ", "Lamp"),
        ("oil WELL", "OIL well"),
        ("talk: OIL", "OIL well"),
        ("oil", "Oil"),
        ("Lam", None),
        ("", None),
        ("\x00", None),
    ],
)
async def test_a_seed_is_resolved_whatever_its_case(tmp_path: Path, asked: str, meant: str | None) -> None:
    assert await lamps(tmp_path).resolve(asked) == meant


async def test_a_seed_that_could_mean_two_articles_is_not_guessed(tmp_path: Path) -> None:
    pair = [{"title": "PEAR", "text": "a brand"}, {"title": "Pear", "text": "a fruit"}]
    source = open_json_lines(json_lines(tmp_path / "pair.jsonl", pair), tmp_path)
    assert await source.resolve("Pear") == "Pear"
    assert await source.resolve("peAr") is None


async def test_close_titles_are_suggested(tmp_path: Path) -> None:
    source = lamps(tmp_path)
    assert await source.suggest("Lanp") == ("Lamp",)
    assert await source.suggest("wick") == ("Wick <of> a lamp",)
    assert await source.suggest("  ") == await source.suggest("qqqqq") == ()


GOOD = b'{"title": "A", "text": "x"}\n'
WIKI = b'{"title": "A", "wikitext": "x"}\n'
WRONG = {
    "empty": (b"", "holds no article"),
    "blank": (b"\n \n", "holds no article"),
    "half": (GOOD + b"{", "line 2: not JSON"),
    "deep": (b"[" * 100_000, "line 1: not JSON"),
    "vast number": (GOOD + b'{"n": ' + b"9" * 5_000 + b"}", "line 2: not JSON"),
    "list": (GOOD + b"[]", "line 2: expected an object"),
    "no title": (b'{"text": "x"}', "line 1: 'title' must be a text"),
    "no text": (b'{"title": "A"}', "line 1: 'text' must be a text"),
    "number for a title": (b'{"title": 5, "text": "x"}', "line 1: 'title' must be a text"),
    "blank title": (b'{"title": " ", "text": "x"}', "line 1: not a title"),
    "link": (b'{"title": "A", "text": "x", "links": "B"}', "line 1: 'links' must be a list of texts"),
    "number for a link": (b'{"title": "A", "text": "x", "links": [1]}', "line 1: 'links' must be a list of texts"),
    "empty link": (b'{"title": "A", "text": "x", "links": [""]}', "line 1: not a title"),
    "categories": (b'{"title": "A", "text": "x", "categories": {}}', "line 1: 'categories' must be a list of texts"),
    "NUL": (b'{"title": "A", "text": "\\u0000"}', "line 1: 'text' holds a NUL"),
    "surrogate": (b'{"title": "A", "text": "\\ud800"}', "line 1: 'text' holds a NUL or half of a surrogate pair"),
    "address": (b'{"title": "A", "text": "x", "url": "javascript:x"}', "line 1: 'url' must begin with https://"),
    "twins": (GOOD + b"\n" + b'{"title": "a", "text": "y"}', "line 3: its title is that of line 1 too"),
    "encoding": (GOOD + b'{"title": "\xff", "text": "y"}', "line 2: is not UTF-8 text"),
    "two kinds": (GOOD + WIKI, "line 2: 'wikitext', where the first line has 'text'"),
    "the other two kinds": (WIKI + b'{"title": "B", "text": "x"}', "line 2: 'wikitext' must be a text"),
    "namespace": (WIKI + b'{"title": "B", "ns": "0", "wikitext": ""}', "line 2: 'ns' must be a whole number"),
    "revision": (WIKI + b'{"title": "B", "revid": true, "wikitext": ""}', "line 2: 'revid' must be a whole number"),
    "no wiki's title": (WIKI + b'{"title": "A[b]", "wikitext": ""}', "line 2: not a title"),
    "article of a namespace": (
        WIKI + b'{"title": "Talk:B", "ns": 0, "wikitext": ""}',
        "line 2: not a title: 'Talk:B' is said to be an article's, but 'talk:' is namespace 1",
    ),
    "wiki's twins": (WIKI + b'{"title": "a", "wikitext": ""}', "line 2: its title is that of line 1 too"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_file_with_a_wrong_line_is_refused_in_one_line(tmp_path: Path, fault: str) -> None:
    content, complaint = WRONG[fault]
    path = tmp_path / "set.jsonl"
    path.write_bytes(content)
    with pytest.raises(SourceError) as refused:
        open_json_lines(path, tmp_path)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2
    assert not list((tmp_path / "pages").glob("*.sqlite"))


def test_a_file_that_cannot_be_opened_is_refused_in_one_line(tmp_path: Path) -> None:
    for path, complaint in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SourceError, match=f"cannot read .*: {complaint}"):
            open_json_lines(path, tmp_path)


async def test_a_text_that_is_too_large_is_refused_and_the_others_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TEXT_BYTES_MAX", 1_000)
    records = [{"title": "Vast", "text": "é" * 501}, {"title": "Full", "text": "é" * 500}]
    source = open_json_lines(json_lines(tmp_path / "set.jsonl", records), tmp_path)
    refused = await ask(source, "Vast")
    assert isinstance(refused, Refusal)
    assert refused.reason == RefusalReason.TOO_LARGE
    assert isinstance(await ask(source, "Full"), Page)


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramet.wiki.sources.compressed_file.LINE_BYTES_MAX", 1_000)
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"title": "A", "text": "x" * 2_000}))
    with pytest.raises(SourceError, match="line 1: longer than 1,000 bytes"):
        open_json_lines(path, tmp_path)
