"""Sources: they answer by canonical title, and a file that is not one is refused with one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ramet.pipelines.wiki.articles import article_from_text
from ramet.pipelines.wiki.errors import ArticleNotFound, SourceError
from ramet.pipelines.wiki.sources.article_set import ArticleSet, json_lines, open_source


async def test_a_set_is_an_article_source(archipelago: ArticleSet) -> None:
    source = archipelago
    article = await source.get("ollo_Island")
    # Lower-case first letters and underscores are spellings of the same key; other case is not.
    assert article is await source.get("Ollo Island")
    assert [section.heading for section in article.sections] == ["", "Climate", "Harbour"]
    assert list(source.titles())[:2] == ["Ollo Island", "Sound of Brae"]


async def test_an_unknown_title_is_permanent_and_says_so(archipelago: ArticleSet) -> None:
    with pytest.raises(ArticleNotFound, match="archipelago has no article 'Ollo island'"):
        await archipelago.get("Ollo island")


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Ollo Island", "Ollo Island"),
        ("ollo island", "Ollo Island"),
        (" OLLO_ISLAND ", "Ollo Island"),
        ("Ollo", None),
        ("", None),
        ("\x00", None),
    ],
)
async def test_a_seed_is_resolved_whatever_its_case(archipelago: ArticleSet, asked: str, meant: str | None) -> None:
    assert await archipelago.resolve(asked) == meant


async def test_a_seed_that_could_mean_two_articles_is_not_guessed() -> None:
    source = ArticleSet("pair", [article_from_text("PEAR", "a brand"), article_from_text("Pear", "a fruit")])
    assert await source.resolve("Pear") == "Pear"
    assert await source.resolve("peAr") is None


def test_close_titles_are_suggested(archipelago: ArticleSet) -> None:
    assert archipelago.suggest("Olo Iland") == ("Ollo Island",)
    assert archipelago.suggest("sound") == ("Sound of Brae",)
    assert archipelago.suggest("  ") == archipelago.suggest("qqqqq") == ()


async def test_links_are_mentions_unless_stated(archipelago: ArticleSet) -> None:
    assert archipelago.links(await archipelago.get("Tarn")) == ("Sound of Brae", "Lighthouse", "Ollo Island")
    stated = article_from_text("Tarn", "Oil", links=["Lamp", "tarn", "lamp", "Elsewhere"])
    assert archipelago.links(stated) == ("Lamp", "Elsewhere")


async def test_json_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    lines = [
        {"title": "Lamp", "text": "A lamp.", "links": ["Oil", "Wick"], "categories": ["Things"], "id": 7},
        {"title": "Oil", "text": "", "links": None, "categories": None, "description": "a liquid"},
    ]
    path.write_text("\ufeff\n" + "\n\n".join(map(json.dumps, lines)), encoding="utf-8")
    source = open_source(str(path), tmp_path)
    assert (source.name, len(source)) == ("set.jsonl", 2)
    assert source.links(await source.get("Lamp")) == ("Oil", "Wick")
    oil = await source.get("Oil")
    assert (oil.sections, oil.description, source.links(oil)) == ((), "a liquid", ())


GOOD = b'{"title": "A", "text": "x"}\n'


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no article"),
        (b"\n \n", "holds no article"),
        (GOOD + b"{", "line 2: not JSON"),
        (b"[" * 100_000, "line 1: not JSON"),
        (GOOD + b"[]", "line 2: expected an object"),
        (b'{"text": "x"}', "line 1: 'title' must be a text"),
        (b'{"title": "A"}', "line 1: 'text' must be a text"),
        (b'{"title": 5, "text": "x"}', "line 1: 'title' must be a text"),
        (b'{"title": " ", "text": "x"}', "line 1: not a title"),
        (b'{"title": "A", "text": "x", "links": "B"}', "line 1: 'links' must be a list of texts"),
        (b'{"title": "A", "text": "x", "links": [1]}', "line 1: 'links' must be a list of texts"),
        (b'{"title": "A", "text": "x", "links": [""]}', "line 1: not a title"),
        (b'{"title": "A", "text": "x", "categories": {}}', "line 1: 'categories' must be a list of texts"),
        (b'{"title": "A", "text": "\\u0000"}', "line 1: 'text' holds a NUL"),
        (b'{"title": "A", "text": "\\ud800"}', "line 1: 'text' holds a NUL or half of a surrogate pair"),
        (GOOD + b"\n" + b'{"title": "a", "text": "y"}', "line 3: 'a' is the title of line 1 too"),
        (GOOD + b'{"title": "\xff", "text": "y"}', "is not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_article_set_is_refused_in_one_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(content)
    with pytest.raises(SourceError) as refused:
        json_lines(path)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2


def test_a_file_that_cannot_be_opened_is_refused_in_one_line(tmp_path: Path) -> None:
    for path, complaint in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SourceError, match=f"cannot read .*: {complaint}"):
            json_lines(path)
