"""Dumps: titles lead where MediaWiki would lead them, however the file is packed; what would do harm is refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Markup, Page, Refusal, RefusalReason
from ramet.wiki.sources import compressed_file, dump
from ramet.wiki.sources.dump import open_dump
from ramet.wiki.sources.page_source import PageFileSource
from ramet.wiki.sources.registry import open_source
from tests.wiki.sources.export_files import HEAD, HEADLESS, TAIL, Revision, export, page

zstd: Any = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")

ISLES = [
    page("Ollo", "An isle. [[Brae]] [[Genus:Isles]] [[Imago:Ollo.png|thumb]]"),
    page("Brae", Revision("old", 5, "2020-01-01T00:00:00Z"), Revision("new", 6, "2021-01-01T00:00:00Z")),
    page("Tarn & Wick", "'''Tarn''' <br> &amp;"),
    page("Ollo isle", "#REDIRECT [[Ollo#Coast]]", redirect="Ollo"),
    page("Double", "#redirect: [[Ollo_isle]] {{R}}", redirect="Ollo isle"),
    page("Umleitung", "#WEITERLEITUNG [[Brae]]", redirect="Brae"),
    page("Loop A", "#REDIRECT [[Loop B]]"),
    page("Loop B", "#REDIRECT [[Loop A]]"),
    page("Itself", "#REDIRECT [[#Section]]"),
    page("Gone", "#REDIRECT [[Nowhere]]"),
    page("Gone too", "#REDIRECT [[Gone]]"),
    page("Out", "#REDIRECT [[de:Insel]]"),
    page("Kind", "#REDIRECT [[:Category:Isles]]"),
    page("Program", Revision("return 1", model="Scribunto")),
    page("Genus:Isles", "Isles. {{Hide}}", namespace=14),
    page("Genus:Odd", "__HIDDENCAT__", namespace=14),
    page("Genus:Maybe", "{{Sometimes|hide=yes}}", namespace=14),
    page("Forma:Hide", "__HIDDENCAT__<noinclude>[[Genus:Odd]]</noinclude>", namespace=10),
    page("Forma:Sometimes", "{{#if:{{{hide|}}}|__HIDDENCAT__}}", namespace=10),
    page("Forma:Split", "<includeonly>{{#ifeq:{{ns:0}}||__DISAMBIG__}}</includeonly>", namespace=10),
    page("Forma:Names", "Names. {{split}}", namespace=10),
    page("Forma:Dab", "#REDIRECT [[Template:Names]]", namespace=10),
    page("Forma:Shows how", "<noinclude>{{Split}} __DISAMBIG__</noinclude><!-- __DISAMBIG__ -->", namespace=10),
    page("Insulae:About", "[[Ollo]]", namespace=4),
]


@pytest.fixture
def isles(tmp_path: Path) -> PageFileSource:
    return open_dump(export(tmp_path / "isles.xml", ISLES), tmp_path)


async def ask(source: PageFileSource, title: str) -> Page | Refusal:
    found = (await source.pages([title]))[title]
    assert not isinstance(found, Exception)
    return found


async def test_a_page_is_as_the_dump_has_it(isles: PageFileSource) -> None:
    assert await ask(isles, "tarn_&_Wick") == Page(
        "Tarn & Wick",
        "Tarn & Wick",
        Markup.WIKITEXT,
        "'''Tarn''' <br> &amp;",
        "1",
        url="https://isles.example/wiki/Tarn_%26_Wick",
    )


async def test_the_newest_revision_counts_wherever_it_stands(tmp_path: Path) -> None:
    newest, oldest = Revision("new", 3, "2022-01-01T00:00:00Z"), Revision("old", 9, "2021-01-01T00:00:00Z")
    twice = [page("Twice", newest), page("Twice", oldest), page("Once", newest, oldest)]
    source = open_dump(export(tmp_path / "twice.xml", twice), tmp_path)
    for title in ("Twice", "Once"):
        found = await ask(source, title)
        assert isinstance(found, Page)
        assert (found.text, found.revision) == ("new", "3")


@pytest.mark.parametrize(
    ("asked", "title", "aliases"),
    [
        ("Ollo", "Ollo", ()),
        ("ollo isle", "Ollo", ("Ollo isle",)),
        ("Double", "Ollo", ("Double", "Ollo isle")),
        ("Umleitung", "Brae", ("Umleitung",)),
    ],
)
async def test_redirects_are_followed_and_become_aliases(
    isles: PageFileSource, asked: str, title: str, aliases: tuple[str, ...]
) -> None:
    found = await ask(isles, asked)
    assert isinstance(found, Page)
    assert (found.title, found.aliases) == (title, aliases)


@pytest.mark.parametrize(
    ("asked", "reason", "detail"),
    [
        ("Nowhere", RefusalReason.NOT_FOUND, "isles.xml has no page 'Nowhere'"),
        ("Gone too", RefusalReason.NOT_FOUND, "Gone too -> Gone -> Nowhere: isles.xml has no page 'Nowhere'"),
        ("Loop A", RefusalReason.REDIRECT_LOOP, "Loop A -> Loop B"),
        ("Itself", RefusalReason.REDIRECT_LOOP, "Itself"),
        ("Out", RefusalReason.ELSEWHERE, "'de:Insel'"),
        ("fr:Ile", RefusalReason.ELSEWHERE, "'fr:Ile'"),
        ("Kind", RefusalReason.NOT_AN_ARTICLE, "namespace 14"),
        ("genus:Isles", RefusalReason.NOT_AN_ARTICLE, "namespace 14"),
        ("Category:Isles", RefusalReason.NOT_AN_ARTICLE, "namespace 14"),
        ("Insulae:About", RefusalReason.NOT_AN_ARTICLE, "namespace 4"),
        ("Bad[title]", RefusalReason.INVALID_TITLE, "Bad[title]"),
        ("Program", RefusalReason.UNPARSABLE, "Scribunto"),
    ],
)
async def test_what_is_no_article_is_refused_with_its_reason(
    isles: PageFileSource, asked: str, reason: RefusalReason, detail: str
) -> None:
    refused = await ask(isles, asked)
    assert isinstance(refused, Refusal)
    assert refused.reason == reason
    assert detail in refused.detail
    assert (await isles.revisions([asked]))[asked] == refused


async def test_a_revision_is_had_without_the_text_and_an_alias_has_none(isles: PageFileSource) -> None:
    found = await isles.revisions(["Brae", "Umleitung"])
    assert found["Brae"] == "6"
    alias = found["Umleitung"]
    assert isinstance(alias, Refusal)
    assert alias == Refusal(RefusalReason.NOT_FOUND, "'Umleitung' redirects to 'Brae' now")


async def test_a_chain_of_redirects_has_an_end(tmp_path: Path) -> None:
    chain = [page(f"Step {number}", f"#REDIRECT [[Step {number + 1}]]") for number in range(200)]
    source = open_dump(export(tmp_path / "chain.xml", [*chain, page("Step 200", "here")]), tmp_path)
    assert isinstance(await ask(source, "Step 180"), Page)
    refused = await ask(source, "Step 0")
    assert isinstance(refused, Refusal)
    assert refused.reason == RefusalReason.REDIRECT_LOOP


async def test_the_site_is_what_the_dump_and_its_pages_tell(isles: PageFileSource) -> None:
    site = await isles.site()
    assert site.name == "Isles"
    assert {site.namespaces[name] for name in ("genus", "category")} == {14}
    assert {site.namespaces[name] for name in ("pictura", "file", "imago")} == {6}
    assert site.disambiguation_templates == {"Split", "Names", "Dab"}
    assert site.hidden_categories == {"Isles", "Odd"}
    assert {"de", "wikt"} <= site.interwiki


def test_it_says_whose_texts_these_are_as_far_as_it_knows(isles: PageFileSource, tmp_path: Path) -> None:
    where = "Isles (https://isles.example/wiki/Main_Page)"
    assert isles.attribution == f"{where}: its contributors; a dump does not state the licence"
    assert open_dump(export(tmp_path / "a.xml", ISLES, head=HEADLESS), tmp_path).attribution == ""


async def test_a_dump_without_a_head_tells_its_namespaces_by_its_pages(tmp_path: Path) -> None:
    pages = [
        page("Ollo", "[[Pictura:Coast.JPG|thumb]] [[Nota:Coast]]"),
        page("Genus:Isles", "", namespace=14),
        page("de:Insel", "An article whose title begins as a wiki's prefix does."),
    ]
    source = open_dump(export(tmp_path / "isles.xml", pages, head=HEADLESS), tmp_path)
    site = await source.site()
    assert (site.namespaces["genus"], site.namespaces["pictura"]) == (14, 6)
    assert "nota" not in site.namespaces
    assert "de" not in site.interwiki
    assert isinstance(await ask(source, "De:Insel"), Page)


async def test_a_wiki_may_tell_titles_apart_by_their_first_letter(tmp_path: Path) -> None:
    head = HEAD.replace('key="0" case="first-letter"', 'key="0" case="case-sensitive"')
    source = open_dump(export(tmp_path / "words.xml", [page("Ollo", "1"), page("ollo", "2")], head=head), tmp_path)
    assert [page.text for page in (await source.pages(["Ollo", "ollo"])).values() if isinstance(page, Page)] == [
        "1",
        "2",
    ]


async def test_a_dump_is_the_same_however_it_is_packed(tmp_path: Path) -> None:
    plain = export(tmp_path / "isles.xml", ISLES).read_bytes()
    middle = len(plain) // 2
    halves = plain[:middle], plain[middle:]
    packings = {
        "whole.xml.bz2": bz2.compress(plain),
        "streams.xml.bz2": b"".join(map(bz2.compress, halves)),
        "isles.xml.gz": gzip.compress(plain),
        "whole.xml.xz": lzma.compress(plain),
        "streams.xml.xz": (b"\0" * 8).join(map(lzma.compress, halves)) + b"\0" * 4,
        "whole.xml.zst": zstd.compress(plain),
        "frames.xml.zst": b"".join((b"\x5e\x2a\x4d\x18\x02\0\0\0ab", *map(zstd.compress, halves))),
        "marked.xml": b"\xef\xbb\xbf" + plain,
    }
    titles = ["Ollo", "Brae", "Double", "Loop A", "Out", "Program"]
    wanted = await open_dump(tmp_path / "isles.xml", tmp_path).pages(titles)
    for name, content in packings.items():
        (tmp_path / name).write_bytes(content)
        source = open_source(str(tmp_path / name), tmp_path)
        assert await source.pages(titles) == wanted
        assert (await source.site()).namespaces["genus"] == 14
        await source.close()


LONG = "<mediawiki>" + page("Ollo", "x" * 3_000_000)


GREEDY = lzma.compress(LONG.encode(), filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}])
_COMPRESSOR = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 30})
GREEDY_ZSTD = _COMPRESSOR.compress(LONG.encode()) + _COMPRESSOR.flush()

DAMAGED: dict[str, tuple[str | bytes, str]] = {
    "cut off": (f"<mediawiki>{page('Ollo', 'x')}<page><title>Br", "after 1 pages, the last of them 'Ollo'"),
    "not closed": ("<mediawiki><page><title>A</page>", "mismatched tag"),
    "bzip2 cut off": (bz2.compress(LONG.encode())[:-20], "is cut off or damaged near byte"),
    "gzip cut off": (gzip.compress(LONG.encode())[:-20], "is cut off or damaged near byte"),
    "xz cut off": (lzma.compress(LONG.encode())[:-20], "is cut off or damaged near byte"),
    "xz with too large a dictionary": (GREEDY, "is cut off or damaged near byte"),
    "no xz": (b"\xfd7zXZ\x00" + b"\x00" * 40, "is cut off or damaged near byte"),
    "Zstandard cut off": (zstd.compress(LONG.encode())[:-20], "is cut off or damaged near byte"),
    "Zstandard with too large a window": (GREEDY_ZSTD, "too much memory"),
    "no Zstandard": (b"\x28\xb5\x2f\xfd" + b"\x07" * 40, "is cut off or damaged near byte"),
    "no bzip2": (b"BZh9" + b"\x00" * 40, "is cut off or damaged near byte"),
    "a web page": ("<html><body/></html>", "before any page: it begins with <html>"),
    "no page": ("<mediawiki></mediawiki>", "holds no article: none of its 0 pages"),
    "no article": (f"<mediawiki>{page('Genus:A', 'x', namespace=14)}{TAIL}", "none of its 1 pages is in namespace 0"),
    "deep": ("<mediawiki>" + "<page>" * 30, "more than 20 elements stand within each other"),
    "no title": ("<mediawiki><page><ns>0</ns></page></mediawiki>", "a page has no title"),
    "no number": ("<mediawiki><page><ns>zero</ns></page></mediawiki>", "'zero' is found where a whole number"),
    "long title": ("<mediawiki><page><title>" + "x" * 200_000, "the value of <title> is over 100,000 bytes long"),
    "entities": (
        '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><mediawiki>&b;</mediawiki>',
        "it declares a document type",
    ),
    "outer entity": ('<!DOCTYPE m SYSTEM "file:///etc/passwd"><mediawiki/>', "it declares a document type"),
    "no texts": (
        '<mediawiki><page><title>A</title><revision><id>1</id><text bytes="9" /></revision></page></mediawiki>',
        "holds no texts, as dumps named 'stub' do not",
    ),
    "no UTF-8": (b"<mediawiki>\xff</mediawiki>", "not well-formed"),
    "7-Zip": (b"7z\xbc\xaf\x27\x1c....", "is packed by 7-Zip"),
    "zip": (b"PK\x03\x04....", "is packed by zip"),
    "ZIM": (b"ZIM\x04....", "is packed by ZIM"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_is_no_whole_dump_is_refused_in_one_line_that_names_the_place(tmp_path: Path, damage: str) -> None:
    content, complaint = DAMAGED[damage]
    path = tmp_path / "isles.xml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(SourceError) as refused:
        open_dump(path, tmp_path)
    assert complaint in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not list((tmp_path / "pages").glob("*.sqlite"))
    assert not list((tmp_path / "pages").glob(".*.part"))


async def test_a_page_that_is_too_large_is_refused_and_the_others_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump, "TEXT_BYTES_MAX", 1_000)
    pages = [page("Ollo", "x"), page("Vast", "é" * 501), page("Full", "é" * 500)]
    source = open_dump(export(tmp_path / "isles.xml", pages), tmp_path)
    refused = await ask(source, "Vast")
    assert isinstance(refused, Refusal)
    assert refused.reason == RefusalReason.TOO_LARGE
    assert "'Vast'" in refused.detail
    for title in ("Ollo", "Full"):
        assert isinstance(await ask(source, title), Page)


@pytest.mark.parametrize("packer", [bz2, gzip, lzma, zstd], ids=["bz2", "gzip", "xz", "zst"])
def test_a_file_that_unfolds_without_end_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packer: Any
) -> None:
    monkeypatch.setattr(compressed_file, "UNFOLDED_FREE_BYTES", 1_000_000)
    path = tmp_path / "bomb.xml"
    blanks = b"<mediawiki>" + b" " * 30_000_000
    path.write_bytes(packer.compress(blanks))
    with pytest.raises(SourceError, match="unfolds to more than 200 times its size"):
        open_dump(path, tmp_path)


async def test_a_title_that_no_page_can_have_is_left_out_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    source = open_dump(export(tmp_path / "isles.xml", [page("A[b]", "x"), page("Ollo", "y")]), tmp_path, told.append)
    assert isinstance(await ask(source, "Ollo"), Page)
    assert told == ["isles.xml: 1 pages were left out: no page can have their titles"]
