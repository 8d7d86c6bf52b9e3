"""The first pass: comments go, and what stands in `<nowiki>`, `<ref>` and their like is kept from the other passes.

Like all of them it takes time in proportion to the text, whatever it is: nothing is searched for twice, and a tag that
is never closed is remembered. The order of the passes is MediaWiki's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ramet.wiki.wikitext.entities import decode_entities
from ramet.wiki.wikitext.marks import GONE, KEPT_END, KEPT_START

_KEPT = frozenset({"nowiki", "pre", "source", "syntaxhighlight", "math", "chem", "ce"})
"""Shown as written; no markup counts in them."""
_CODE = frozenset({"source", "syntaxhighlight"})
_BLOCKS = _CODE | {"pre"}
_DROPPED = frozenset(
    "categorytree dynamicpagelist graph hiero includeonly inputbox mapframe maplink score section templatedata"
    " templatestyles timeline".split()
)
"""Neither text nor links: pictures, forms, and what only appears where the page is included."""
_ASIDE = frozenset({"imagemap", "indicator", "ref", "references"})
"""No part of the running text, but their links are on the page."""
_TRANSPARENT = frozenset({"noinclude", "onlyinclude", "poem"})
_NAMES = _KEPT | _DROPPED | _ASIDE | _TRANSPARENT | {"gallery"}

_START = re.compile(rf"<!--|<({'|'.join(sorted(_NAMES))})(?=[\s/>])", re.IGNORECASE)
_CLOSERS = {name: re.compile(rf"</{name}\s*+>", re.IGNORECASE) for name in _NAMES}
_NOWIKI_TAG = re.compile(r"</?nowiki\s*/?>", re.IGNORECASE)
_MARKED = re.compile(f"{KEPT_START}([0-9]+){KEPT_END}")
_GALLERY_OPTION = re.compile(r"\s*(?:alt|link|page|lang|class)\s*=")


@dataclass(slots=True)
class Views:
    """One page without comments, seen in two ways, both of them wikitext still.

    Attributes:
        text: what is shown; a text that is kept as written stands there as its mark.
        links: all that links can stand in, in reading order; what is kept as written is a mark there too.
        kept: the texts behind the marks.
    """

    text: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def both(self, text: str) -> None:
        """Add to both views."""
        self.text.append(text)
        self.links.append(text)

    def restore(self, text: str) -> str:
        """`text` with the kept texts in the place of their marks."""
        return _MARKED.sub(lambda mark: self.kept[int(mark[1])], text) if KEPT_START in text else text


def read_extensions(text: str) -> Views:
    """Part a clean text (`marks.clean`) into what is shown and where links are."""
    views = Views()
    _read(text, views, shown=True)
    return views


def _read(text: str, views: Views, *, shown: bool) -> None:
    """Goes one level deeper for each tag within a tag; none is found within its own kind, so it ends soon."""
    at = 0
    unclosed: set[str] = set()
    add = views.both if shown else views.links.append
    while start := _START.search(text, at):
        add(text[at : start.start()])
        name = (start[1] or "").lower()
        if not name:
            end = text.find("-->", start.end())
            at = len(text) if end < 0 else end + 3
            continue
        opened = text.find(">", start.end()) if ">" not in unclosed else -1
        if opened < 0:
            unclosed.add(">")
            add(start[0])
            at = start.end()
            continue
        at = opened + 1
        if name in ("noinclude", "onlyinclude"):
            continue
        if text[opened - 1] == "/":
            add(GONE)  # parts what stands around it: `[<nowiki/>[` begins no link
            continue
        closer = None if name in unclosed else _CLOSERS[name].search(text, at)
        if closer is None:
            # As MediaWiki has it the tag is text then; a tag is not shown (plain_text.py).
            unclosed.add(name)
            if name == "includeonly":
                return
            add(text[start.start() : at])
            continue
        _read_extension(name, text[at : closer.start()], views, shown=shown)
        at = closer.end()
    add(text[at:])


def _read_extension(name: str, content: str, views: Views, *, shown: bool) -> None:
    if name in _KEPT:
        mark = _keep(name, content, views)
        if shown:
            views.text.append(f"\n{mark}\n" if name in _BLOCKS else mark)
        views.links.append(mark)
    elif name == "gallery":
        _read(content, views, shown=False)
        if shown:
            # A caption's links are in already; read again for the text alone.
            captions = Views(kept=views.kept)
            _read(_captions(content), captions, shown=True)
            views.text.append(f"\n{''.join(captions.text)}\n")
    elif name in _TRANSPARENT:
        _read(content, views, shown=shown)
    elif name in _ASIDE:
        _read(content, views, shown=False)
        if shown:
            views.text.append(GONE)
    elif shown:
        views.text.append(GONE)


def _keep(name: str, content: str, views: Views) -> str:
    if name in _BLOCKS:
        content = content.strip("\n")
    if name not in _CODE:
        content = decode_entities(_NOWIKI_TAG.sub("", content))
    if name in ("math", "chem", "ce"):
        content = " ".join(content.split())
    views.kept.append(content)
    return f"{KEPT_START}{len(views.kept) - 1}{KEPT_END}"


def _captions(gallery: str) -> str:
    lines = []
    for line in gallery.splitlines():
        _, _, rest = line.partition("|")
        parts = [part for part in _split_caption(rest) if not _GALLERY_OPTION.match(part)]
        if caption := "|".join(parts).strip():
            lines.append(caption)
    return "\n".join(lines)


def _split_caption(text: str) -> list[str]:
    """Cut at each `|` that is in no link."""
    parts: list[list[str]] = [[]]
    depth = 0
    for piece in text.split("|"):
        if depth <= 0 and parts[-1]:
            parts.append([])
            depth = 0
        parts[-1].append(piece)
        depth += piece.count("[[") - piece.count("]]")
    return ["|".join(part) for part in parts]
