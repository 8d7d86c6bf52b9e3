"""The second pass: templates, parser functions and arguments are not shown, as what they stand for is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ramet.model.keys import InvalidKey
from ramet.wiki.wikitext.marks import GONE
from ramet.wiki.wikitext.site import ARTICLES, TEMPLATES, Site
from ramet.wiki.wikitext.titles import read_title

_BRACES = re.compile(r"\{{2,}|\}{2,}")
_TEMPLATE = re.compile(r"(?<!\{)\{\{([^{}\[\]|<>#]{1,300}+)(?=\||\}\})")


def without_templates(text: str) -> str:
    """`text` with a mark for each `{{` up to its `}}`, which closes the last one that is open, as in MediaWiki.

    Braces without a partner go, what is around them stays.
    """
    pieces: list[str] = []
    opened: list[tuple[int, int]] = []  # (where in `pieces`, braces)
    at = 0
    for braces in _BRACES.finditer(text):
        pieces.append(text[at : braces.start()])
        at = braces.end()
        count = at - braces.start()
        if braces[0][0] == "{":
            opened.append((len(pieces), count))
            continue
        while count >= 2 and opened:
            where, most = opened.pop()
            closed = min(count, most)
            del pieces[where:]
            pieces.append(GONE)
            count -= closed
            if most - closed >= 2:
                opened.append((where, most - closed))
    pieces.append(text[at:])
    return "".join(pieces)


def templates_named(text: str, site: Site) -> Iterator[str]:
    """Canonical titles, without namespace, of the templates that a page names. Arguments and functions are left out."""
    for template in _TEMPLATE.finditer(text):
        name = template[1].strip()
        try:
            title = read_title(name, site)
        except InvalidKey:
            continue
        if title.interwiki or name.startswith(":"):
            continue
        if title.namespace in (ARTICLES, TEMPLATES):
            yield title.text
