"""The first pass: comments go, and what stands in `<nowiki>`, `<ref>` and their like is kept from the other passes.

Like all of them it takes time in proportion to the text, whatever it is: nothing is searched for twice, and a tag that
is never closed is remembered. The order of the passes is MediaWiki's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from ramet import InvalidKey
from ramet.wiki.wikitext.plain_text import BAR, CELL, GONE, KEPT_END, KEPT_START, decode_entities
from ramet.wiki.wikitext.site import ARTICLES, CATEGORIES, LANGUAGES, TEMPLATES, Site
from ramet.wiki.wikitext.templates import CONTENT_MAX, shown
from ramet.wiki.wikitext.titles import TITLE_BYTES_MAX, namespace_number, read_title

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
_GALLERY_TITLE = re.compile(r"""(?:^|\s)caption\s*=\s*(["'])([^"'<>]*)\1""", re.IGNORECASE)
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
        attributes = text[start.end() : opened]
        _read_extension(name, text[at : closer.start()], views, shown=shown, attributes=attributes)
        at = closer.end()
    add(text[at:])


def _read_extension(name: str, content: str, views: Views, *, shown: bool, attributes: str) -> None:
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
            title = _GALLERY_TITLE.search(attributes)
            _read("\n".join([*([title[2]] if title else []), _captions(content)]), captions, shown=True)
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


_BRACES = re.compile(r"\{{2,}|\}{2,}")
_TEMPLATE = re.compile(r"(?<!\{)\{\{([^{}\[\]|<>#]{1,300}+)(?=\||\}\})")


def without_templates(text: str, site: Site) -> str:
    """`text` with what is shown of each `{{` up to its `}}`, which closes the last one that is open, as in MediaWiki.

    A mark stands for what shows nothing that is known. Braces without a partner go, what is around them stays.
    """
    pieces: list[str] = []
    opened: list[tuple[int, int]] = []  # (where in `pieces`, braces)
    sizes = [0]  # of so many pieces together, so that no long content is put together
    at = 0

    def add(piece: str) -> None:
        pieces.append(piece)
        sizes.append(sizes[-1] + len(piece))

    for braces in _BRACES.finditer(text):
        add(text[at : braces.start()])
        at = braces.end()
        count = at - braces.start()
        if braces[0][0] == "{":
            opened.append((len(pieces), count))
            continue
        while count >= 2 and opened:
            where, most = opened.pop()
            # Of three, as of two within a fourth, the inner ones are a template's parameter.
            closed = min(count, most)
            seen = None
            if closed == 2 and sizes[-1] - sizes[where] <= CONTENT_MAX:
                seen = shown("".join(pieces[where:]), site)
            del pieces[where:]
            del sizes[where + 1 :]
            add(GONE if seen is None else seen)
            count -= closed
            if most - closed >= 2:
                opened.append((where, most - closed))
    add(text[at:])
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


# Of `]]]` the last two close: `[[File:x|[http://y z]]]`.
_TOKEN = re.compile(r"\[\[(?!\[)|\]\](?!\](?!\]))")
_TITLE = re.compile(r"[^\[\]{}|<>\n]++(?=\||\]\])")
_FILES = (6, -2)
_NESTED_MAX = 8
"""Pictures whose captions have pictures; one within another is all that people write."""
_LINE_START_MAX = 200
_OPTION = re.compile(r"[^\W\d][\w-]*+\s*=.*|[0-9]{0,5}x?[0-9]{1,5} ?[^\W\d_]{1,6}|", re.DOTALL)
_IN_BRACKETS = re.compile(r"[ _]*[(\uff08][^()]*[)\uff09]\s*$")


@dataclass(slots=True)
class _Open:
    start: int
    """In the text, after the brackets."""
    piece: int
    """Number of pieces before its content."""
    namespace: int | None
    title: str


def with_labels(text: str, site: Site) -> str:
    """`text` with each `[[...]]` replaced by what a reader sees of it; brackets that make no link go.

    A category's link, and another language's on a line of its own, show nothing. A picture shows its caption in a
    paragraph of its own where it stands at the start of a line, else nothing, as icons do.
    """
    pieces: list[str] = []
    opened: list[_Open] = []
    at = 0
    for token in _TOKEN.finditer(text):
        pieces.append(text[at : token.start()])
        at = token.end()
        if token[0] == "]]":
            if opened:
                link = opened.pop()
                content = "".join(pieces[link.piece :])
                del pieces[link.piece :]
                pieces.append(_shown(link, content, text, at, site, within=bool(opened)))
            continue
        if opened and opened[-1].namespace not in _FILES:
            opened.pop()  # only a picture's caption can hold a link
        title = _TITLE.match(text, at)
        if title is not None:
            if len(opened) == _NESTED_MAX:
                del opened[0]
            opened.append(_Open(at, len(pieces), _namespace(title[0], site), title[0]))
    pieces.append(text[at:])
    return "".join(pieces)


@cache
def _picture_words() -> dict[str, frozenset[str]]:
    """Words, casefolded, that are options of pictures: those that put it into a frame of its own, and others."""
    text = (files("ramet.wiki.wikitext") / "picture_options.json").read_text(encoding="utf-8")
    return {name: frozenset(words) for name, words in json.loads(text).items()}


def _is_option(option: str) -> bool:
    word = option.casefold()
    return bool(_OPTION.fullmatch(option)) or any(word in words for words in _picture_words().values())


def _namespace(title: str, site: Site) -> int | None:
    """None for an article and another wiki. A colon before it makes a plain link of a picture or category."""
    prefix, colon, _ = title.partition(":")
    return namespace_number(prefix, site) if colon and prefix.strip() else None


def _shown(link: _Open, content: str, text: str, end: int, site: Site, *, within: bool) -> str:
    _, piped, label = content.partition("|")
    if link.namespace in _FILES:
        return _caption(label, text, link.start - 2, within=within)
    if link.namespace == CATEGORIES:
        return GONE
    prefix = link.title.partition(":")[0].strip().casefold()
    if _leads_elsewhere(link.title, site) and (
        prefix in LANGUAGES or (not piped and _alone(text, link.start - 2, end))
    ):
        return GONE
    if label.strip(f" {GONE}"):
        return label.replace("|", BAR)
    title = (link.title if piped else content).strip().removeprefix(":").strip()
    return _short(title, site) if piped else title


def _short(title: str, site: Site) -> str:
    """What `[[title|]]` shows: no prefix, and no `(explanation)`."""
    prefix, colon, rest = title.partition(":")
    if colon and (namespace_number(prefix, site) is not None or _leads_elsewhere(title, site)):
        title = rest.strip()
    if len(title) > TITLE_BYTES_MAX:
        return title  # it is none
    return _IN_BRACKETS.sub("", title) or title


def _leads_elsewhere(title: str, site: Site) -> bool:
    prefix, colon, _ = title.partition(":")
    return bool(colon) and prefix.strip().casefold() in site.interwiki


def _alone(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end] == "\n")


def _caption(options: str, text: str, start: int, *, within: bool) -> str:
    """What is shown of a picture: its caption, the last of its parameters that is no option."""
    given = [option.strip() for option in options.split("|")]
    caption = next((option for option in reversed(given) if not _is_option(option)), "")
    if not caption or within:  # A picture in the caption of another has none that is read.
        return GONE
    if any(
        option.casefold() in _picture_words()["frames"] for option in given
    ):  # It stands in a box of its own, wherever it is written.
        return f"\n\n{caption}\n\n"
    line = text.rfind("\n", max(0, start - _LINE_START_MAX), start) + 1
    if (line == 0 and start > _LINE_START_MAX) or text[line:start].strip(f" {GONE}"):
        return GONE
    return f"{caption}\n\n"


_LINE = re.compile(rf"^([ :{GONE}]*+)(\{{\||\|[}}+-]?|!)(.*)$", re.MULTILINE)


def without_tables(text: str) -> str:
    """`text` with the marks of tables and their cells' attributes left out. Needs links to be gone.

    A line that begins with `|` is a table's, wherever it stands: templates, which are not known here, begin and end
    tables too.
    """
    depth = 0

    def replaced(line: re.Match[str]) -> str:
        nonlocal depth
        before, mark, rest = line.groups()
        if mark == "{|":
            depth += 1
            return ""
        if mark == "|}":
            depth = max(0, depth - 1)
            return rest
        if mark == "|-":
            return GONE
        if mark == "!":
            if not depth:
                return line[0]
            rest = rest.replace("!!", "||")
        return before.strip(" :") + CELL.join(filter(None, map(_content, rest.split("||"))))

    return _LINE.sub(replaced, text)


def _content(cell: str) -> str:
    """What a cell says, without the attributes before its `|`."""
    attributes, bar, content = cell.partition("|")
    return (content if bar else attributes).strip()
