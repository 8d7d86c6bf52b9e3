"""The first pass: comments go, and the content of `<nowiki>`, `<ref>` and their like is kept from the other passes.

Like all of them it takes time in proportion to the text, whatever it is: nothing is searched for twice, and a tag that
is never closed is remembered. The order of the passes is MediaWiki's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ramet import InvalidKey
from ramet.wiki.wikitext.plain_text import BAR, CELL, GONE, KEPT_END, KEPT_START, decode_entities
from ramet.wiki.wikitext.site import ARTICLES, CATEGORIES, LANGUAGES, TEMPLATES, Site
from ramet.wiki.wikitext.templates import CONTENT_MAX, known, shown_by
from ramet.wiki.wikitext.titles import TITLE_BYTES_MAX, namespace_number, read_title
from ramet.wiki.wikitext.words import framed_words, picture_option

_KEPT = frozenset({"nowiki", "pre", "source", "syntaxhighlight", "math", "chem", "ce"})
"""Elements that are shown as written; no markup counts in them."""
_CODE = frozenset({"source", "syntaxhighlight"})
_BLOCKS = _CODE | {"pre"}
_DROPPED = frozenset(
    "categorytree dynamicpagelist graph hiero includeonly inputbox mapframe maplink score section templatedata"
    " templatestyles timeline".split()
)
"""Elements without text and links: pictures, forms, and what only appears where the page is included."""
_ASIDE = frozenset({"imagemap", "indicator", "ref", "references"})
"""Elements outside the running text whose links are on the page."""
_TRANSPARENT = frozenset({"noinclude", "onlyinclude", "poem"})
_NAMES = _KEPT | _DROPPED | _ASIDE | _TRANSPARENT | {"gallery"}

_START = re.compile(rf"<!--|<({'|'.join(sorted(_NAMES))})(?=[\s/>])", re.IGNORECASE)
_CLOSERS = {name: re.compile(rf"</{name}\s*+>", re.IGNORECASE) for name in _NAMES}
_NOWIKI_TAG = re.compile(r"</?nowiki\s*/?>", re.IGNORECASE)
_MARKED = re.compile(f"{KEPT_START}([0-9]+){KEPT_END}")
_GALLERY_CAPTION = re.compile(r"(?<!\w)caption\s*+=\s*+(?:\"([^\"<>]*)\"|'([^'<>]*)')", re.IGNORECASE)
_GALLERY_OPTION = re.compile(r"\s*(?:alt|link|page|lang|class)\s*=")


@dataclass(slots=True)
class Views:
    """One page without comments, seen in two ways, both of them wikitext still.

    Attributes:
        text: what is shown, with a mark in the place of a text that is kept as written.
        links: all text that can hold links, in reading order; what is kept as written is a mark there too.
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
        """Return `text` with the kept texts in the place of their marks."""
        return _MARKED.sub(lambda mark: self.kept[int(mark[1])], text) if KEPT_START in text else text


def read_extensions(text: str) -> Views:
    """Part a clean text (`marks.clean`) into what is shown and where links are."""
    views = Views()
    _read(text, views, shown=True)
    return views


def _read(text: str, views: Views, *, shown: bool) -> None:
    """Read a text, one level deeper for each tag within a tag; none is found within its own kind, so it ends soon."""
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
            add(GONE)  # parts what is around it: `[<nowiki/>[` begins no link
            continue
        closer = None if name in unclosed else _CLOSERS[name].search(text, at)
        if closer is None:
            # As MediaWiki has it the tag is text then; a tag is not shown (plain_text.py).
            unclosed.add(name)
            if name == "includeonly":
                return
            add(text[start.start() : at])
            continue
        _read_extension(name, text[start.end() : opened], text[at : closer.start()], views, shown=shown)
        at = closer.end()
    add(text[at:])


def _read_extension(name: str, attributes: str, content: str, views: Views, *, shown: bool) -> None:
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
            heading = _GALLERY_CAPTION.search(attributes)
            title = f"{(heading[1] or heading[2] or '').strip()}\n" if heading else ""
            views.text.append(f"\n{title}{''.join(captions.text)}\n")
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
    """Return `text` with what each template shows (`templates.shown_by`), or a mark where that is not known.

    `}}` closes the last `{{` that is open, as in MediaWiki. Braces without a partner go, what is around them stays.
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
            pieces[where:] = [_template_text(pieces[where:], site) if closed == 2 else GONE]
            count -= closed
            if most - closed >= 2:
                opened.append((where, most - closed))
    pieces.append(text[at:])
    return "".join(pieces)


def _template_text(pieces: list[str], site: Site) -> str:
    if not pieces or not known(pieces[0], site) or sum(map(len, pieces)) > CONTENT_MAX:
        return GONE
    return shown_by("".join(pieces), site)


def templates_named(text: str, site: Site) -> Iterator[str]:
    """Yield canonical titles, without namespace, of the templates that a page names, but no arguments and functions."""
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
"""Most pictures within captions of pictures; people write one within another at most."""
_LINE_START_MAX = 200
_WORD = re.compile(r"[a-z][^\WA-Z]*+(?>(?:-\w++)*)")
_IN_BRACKETS = re.compile(r"[ _]*[(\uff08][^()]*[)\uff09]\s*$")


@dataclass(slots=True)
class _Open:
    start: int
    """Offset in the text of the content, after the brackets."""
    piece: int
    """Number of pieces before its content."""
    namespace: int | None
    title: str


def with_labels(text: str, site: Site) -> str:
    """Return `text` with each `[[...]]` replaced by what a reader sees of it; brackets that make no link go.

    A category's link, and another language's on a line of its own, show nothing. A picture shows its caption in a
    paragraph of its own at the start of a line, else nothing, as icons do.
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
                inside = bool(opened) and opened[-1].namespace in _FILES
                pieces.append(_shown(link, content, text, at, site, inside=inside))
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


def _namespace(title: str, site: Site) -> int | None:
    """Return a link's namespace; None for an article and another wiki, and for a picture or category after a colon."""
    prefix, colon, _ = title.partition(":")
    return namespace_number(prefix, site) if colon and prefix.strip() else None


def _shown(link: _Open, content: str, text: str, end: int, site: Site, *, inside: bool) -> str:
    _, piped, label = content.partition("|")
    if link.namespace in _FILES:
        return GONE if inside else _caption(label, text, link.start - 2, site)
    if link.namespace == CATEGORIES or _is_language(link.title, site):
        return GONE
    if not piped and _leads_elsewhere(link.title, site) and _alone(text, link.start - 2, end):
        return GONE
    if label.strip(f" {GONE}"):
        return label.replace("|", BAR)
    title = (link.title if piped else content).strip().removeprefix(":").strip()
    return _short(title, site) if piped else title


def _short(title: str, site: Site) -> str:
    """Return the text that `[[title|]]` shows: no prefix, and no `(explanation)`."""
    prefix, colon, rest = title.partition(":")
    if colon and (namespace_number(prefix, site) is not None or _leads_elsewhere(title, site)):
        title = rest.strip()
    if len(title) > TITLE_BYTES_MAX:
        return title  # it is none
    return _IN_BRACKETS.sub("", title) or title


def _leads_elsewhere(title: str, site: Site) -> bool:
    prefix, colon, _ = title.partition(":")
    return bool(colon) and prefix.strip().casefold() in site.interwiki


def _is_language(title: str, site: Site) -> bool:
    """Return whether a link is to the same page in another language: the page does not show it, wherever it is."""
    prefix = title.partition(":")[0].strip().casefold()
    return prefix in LANGUAGES and _leads_elsewhere(title, site)


def _alone(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end] == "\n")


def _caption(options: str, text: str, start: int, site: Site) -> str:
    """Return the last part that is not an option, as a paragraph if framed or at the start of a line."""
    parts = [part.strip() for part in options.split("|")]
    option = picture_option()
    captions = [part for part in parts if not option.fullmatch(part)]
    # Of a language whose words are not known, a word in small letters may well be one of them.
    if not captions or (not site.english and _WORD.fullmatch(captions[-1])):
        return GONE
    line = text.rfind("\n", max(0, start - _LINE_START_MAX), start) + 1
    within = (line == 0 and start > _LINE_START_MAX) or bool(text[line:start].strip(f" {GONE}"))
    framed = not framed_words().isdisjoint(part.casefold() for part in parts)
    if within and not framed:
        return GONE
    return f"\n\n{captions[-1]}\n\n" if within else f"{captions[-1]}\n\n"


_LINE = re.compile(rf"^([ :{GONE}]*+)(\{{\||\|[}}+-]?|!)(.*)$", re.MULTILINE)


def without_tables(text: str) -> str:
    """Return `text` with the marks of tables and their cells' attributes left out. Needs links to be gone.

    A line that begins with `|` is a table's, wherever it is: templates, which are not known here, begin and end
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
    """Return the text of a cell, without the attributes before its `|`."""
    attributes, bar, content = cell.partition("|")
    return (content if bar else attributes).strip()
