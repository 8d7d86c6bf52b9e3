"""A made-up archipelago to expand, small enough to be checked by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.base import EmbeddedArticle
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.pages import Article
from tests.wiki import mediawiki as real
from tests.wiki.article_texts import article_from_text

TEXTS = {
    "Ollo Island": "Ollo Island lies east of the Sound of Brae and is known for its lighthouse.\n"
    "== Climate ==\nWindy, with fog in spring.\n== Empty ==\n=== Harbour ===\nA stone pier, rebuilt twice.",
    "Sound of Brae": "The Sound of Brae parts Ollo Island from Tarn. Ferries cross it daily.",
    "Tarn": "Tarn is a village on the Sound of Brae where the lighthouse keepers of Ollo island live.",
    "Lighthouse": "A lighthouse is a tower with a lamp; its keeper tends the lamp by night.",
    "Lamp": "A lamp gives light. The oldest burned oil.",
    "Oil": "Oil does not mix with water.",
}
CATEGORIES = {"Ollo Island": ["Islands", "Places"], "Tarn": ["Places"], "Lamp": ["Things"], "Oil": ["Things"]}


@pytest.fixture
def articles() -> list[Article]:
    return make_articles()


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder(16)


@pytest.fixture
def embedded(embedder: HashingEmbedder) -> Callable[[Sequence[Article], int], list[EmbeddedArticle]]:
    """Articles made ready for loading at one depth."""

    def embed(articles: Sequence[Article], depth: int) -> list[EmbeddedArticle]:
        return [EmbeddedArticle(article, depth, tuple(embedder.embed(texts_of(article)))) for article in articles]

    return embed


@pytest.fixture(scope="session")
def built_wiki(pytestconfig: pytest.Config) -> Path:
    """A MediaWiki that does not run yet; kept with what pytest remembers, for as long as it is still the same."""
    if real.missing():
        pytest.skip(real.missing())
    cache = pytestconfig.cache
    assert cache is not None, "pytest's cache is switched off"
    return real.built_once(cache.mkdir("mediawiki") / real.fingerprint())


@pytest.fixture(scope="session")
def running_wiki(built_wiki: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[real.MediaWiki]:
    """One MediaWiki for all tests of this process; they leave its pages as they are."""
    with real.MediaWiki(built_wiki, tmp_path_factory.mktemp("mediawiki") / "wiki") as running:
        yield running


@pytest.fixture
def mediawiki(running_wiki: real.MediaWiki) -> Iterator[real.MediaWiki]:
    """The running MediaWiki, without faults and with nothing asked yet."""
    running_wiki.faults()
    running_wiki.forget()
    yield running_wiki
    running_wiki.faults()


@pytest.fixture
def mediawiki_to_edit(built_wiki: Path, tmp_path: Path) -> Iterator[real.MediaWiki]:
    """A MediaWiki of the test's own."""
    with real.MediaWiki(built_wiki, tmp_path / "wiki") as running:
        yield running


def make_articles() -> list[Article]:
    return [article_from_text(title, text, categories=CATEGORIES.get(title, ())) for title, text in TEXTS.items()]
