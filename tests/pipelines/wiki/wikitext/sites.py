"""The wikis whose rules the tests read by."""

from __future__ import annotations

from ramet.pipelines.wiki.wikitext.site import Site
from ramet.pipelines.wiki.wikitext.titles import CANONICAL_NAMESPACES

ENGLISH = Site(
    name="English",
    namespaces=CANONICAL_NAMESPACES | {"wikipedia": 4, "wp": 4, "portal": 100},
    interwiki=frozenset({"fr", "de", "wikt", "wiktionary", "zh-min-nan", "s"}),
    disambiguation_templates=frozenset({"Disambig", "Disambiguation", "Hndis"}),
    hidden_categories=frozenset({"All stub articles"}),
    article_url="https://en.example.org/wiki/$1",
)
LATGALIAN = Site(
    name="Latgalian",
    namespaces=CANONICAL_NAMESPACES
    | {"diskuseja": 1, "vikipedeja": 4, "fails": 6, "attels": 6, "taiss": 10, "kategoreja": 14, "seviškuo": -1},
    interwiki=frozenset({"en", "lv", "ru"}),
)
DICTIONARY = Site(name="Dictionary", namespaces=CANONICAL_NAMESPACES, capital_first=False)
