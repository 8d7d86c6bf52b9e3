"""The wikis whose rules the tests read by."""

from __future__ import annotations

from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import CANONICAL_NAMESPACES

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
    | {"diskuseja": 1, "vikipedeja": 4, "fails": 6, "attēls": 6, "taiss": 10, "kategoreja": 14, "seviškuo": -1},
    interwiki=frozenset(
        "ar be bg bn commons cs da de en es et fi fiu-vro fr he hu id is it ja ko lt lv m nl no pl pt ro ru sk sl sr sv"
        " bat-smg tr uk vi w zh".split()
    ),
)
DICTIONARY = Site(name="Dictionary", namespaces=CANONICAL_NAMESPACES, capital_first=False)
