"""Facts about a wiki, collected from the pages of its file in one pass: namespaces, disambiguation, hidden categories.

A dump states its namespaces, but by one name each, and a file of JSON Lines does not; neither says which pages are
disambiguations and which categories are hidden, nor which prefixes lead to other wikis.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ramet import InvalidKey
from ramet.wiki.sources.page_file import PageWriter
from ramet.wiki.wikitext.site import CATEGORIES, TEMPLATES, WELL_KNOWN, Site
from ramet.wiki.wikitext.titles import CANONICAL_NAMESPACES, WikiTitle, read_title, redirect_target

FILES = 6
PREFIXES_MAX = 10_000
"""Most prefixes of links that are watched for being the files'."""

NAMESPACES_MAX = 1_000
"""Most namespaces that titles may show; the largest wikis have a hundred names for theirs."""

USES_MAX = 1_000
"""Most templates of one template or category page that are noted."""

_DISAMBIGUATION = re.compile(r"__DISAMBIG__", re.IGNORECASE)
_HIDDEN = re.compile(r"__HIDDENCAT__", re.IGNORECASE)
# All of these take what is not closed to the end: looking for the end of each such again would take for ever.
_NOT_READ = re.compile(r"<!--.*?(?:-->|\Z)|<(nowiki|pre)\b[^<>]{0,200}>.*?(?:</\1 ?>|\Z)", re.IGNORECASE | re.DOTALL)
_NOT_INCLUDED = re.compile(r"<noinclude\b[^<>]{0,200}>.*?(?:</noinclude ?>|\Z)", re.IGNORECASE | re.DOTALL)
_ONLY_INCLUDED = re.compile(r"<includeonly\b[^<>]{0,200}>.*?(?:</includeonly ?>|\Z)", re.IGNORECASE | re.DOTALL)
_BRACES = re.compile(r"\{\{|\}\}")
_TEMPLATE_NAME = re.compile(r"[^|{}<>\[\]#]{1,255}")
_PREFIXED_LINK = re.compile(r"\[\[ ?([^\[\]|:#<>{}\n]{1,40}):([^\[\]|\n]{1,260})")
_MEDIA = (".jpg", ".jpeg", ".png", ".svg", ".gif", ".tif", ".tiff", ".webp", ".ogg", ".oga", ".ogv", ".webm", ".pdf")

_USES = "CREATE TABLE uses (namespace INTEGER NOT NULL, name TEXT NOT NULL, template TEXT NOT NULL)"


@dataclass(frozen=True, slots=True)
class _Transcluded:
    """Parts of a template or category page that do not depend on parameters: its own text and its templates."""

    outside: str
    templates: tuple[str, ...]


class SiteNotes:
    """Collector of these facts in one pass; memory grows with marked templates and hidden categories alone."""

    def __init__(self, writer: PageWriter, stated: Site) -> None:
        """Begin with what the source states; without namespaces they are taken from the pages' titles."""
        self._writer = writer
        self._guessing = not stated.namespaces
        namespaces = dict(CANONICAL_NAMESPACES) | dict(stated.namespaces)
        self.site = replace(stated, namespaces=namespaces)
        self._prefixes: dict[str, list[int]] = {}
        self._disambiguation: set[str] = set()
        self._hiding: set[str] = set()
        self._hidden: set[str] = set()
        writer.file.rows(_USES)

    def page(self, number: int | None, title: str) -> WikiTitle:
        """Read a page's own title, in the namespace that its source states, if it does.

        Raises:
            InvalidKey: it is not a valid title.
        """
        written, colon, rest = title.partition(":")
        prefix = " ".join(written.replace("_", " ").split()).casefold()
        if self._guessing and number and colon and prefix not in self.site.namespaces:
            if len(self.site.namespaces) >= NAMESPACES_MAX:
                raise InvalidKey(f"{title!r} begins with the name of yet another namespace, after {NAMESPACES_MAX:,}")
            self.site = replace(self.site, namespaces={**self.site.namespaces, prefix: number})
        read = read_title(title, self.site)
        if number is None or read.namespace == number:
            return read
        if number == 0:
            raise InvalidKey(f"{title!r} is said to be an article's, but '{prefix}:' is namespace {read.namespace}")
        return replace(read_title(rest or title, self.site), namespace=number)

    def note(self, title: WikiTitle, text: str, stated_redirect: str | None) -> None:
        """Take note of a page."""
        if title.namespace == TEMPLATES:
            self._note_template(title.text, text, stated_redirect)
        elif title.namespace == CATEGORIES:
            self._note_category(title.text, text)
        elif title.namespace == 0:
            self._note_links(text)

    def redirect(self, text: str, stated: str | None) -> str | None:
        """Return `PageRecord.redirect` of a page of this text, whose source states that it redirects there."""
        if stated is not None:
            return stated
        return None if redirect_target(text, self.site) is None else ""

    def finish(self) -> Site:
        """Return the site; the writer's pages must be sorted."""
        self._writer.file.rows("CREATE INDEX uses_by_template ON uses (template)")
        disambiguation = self._users(TEMPLATES, self._disambiguation) | self._disambiguation
        hiding = self._users(TEMPLATES, self._hiding) | self._hiding
        hidden = self._hidden | self._users(CATEGORIES, hiding, deep=False)
        self._writer.file.rows("DROP TABLE uses")
        namespaces = dict(self.site.namespaces)
        for prefix, (media, others) in self._prefixes.items():
            known = prefix in namespaces or prefix in WELL_KNOWN
            if media > others and not known and not self._writer.has_title_with(prefix):
                namespaces[prefix] = FILES
        # A wiki whose own pages begin with it has no such prefix to another wiki.
        interwiki = frozenset(prefix for prefix in WELL_KNOWN if not self._writer.has_title_with(prefix))
        return replace(
            self.site,
            namespaces=namespaces,
            interwiki=self.site.interwiki or interwiki.difference(namespaces),
            disambiguation_templates=frozenset(disambiguation),
            hidden_categories=frozenset(hidden),
        )

    def _note_template(self, name: str, text: str, stated_redirect: str | None) -> None:
        target = redirect_target(text, self.site)
        if target is None and stated_redirect:
            target = _title(stated_redirect, self.site)
        if target is not None:
            if target.namespace == TEMPLATES:
                self._note_uses(TEMPLATES, name, [target.text])
            return
        included = _NOT_INCLUDED.sub("", _NOT_READ.sub("", text))
        # Whether to mark a page is often left to a parameter, or asked of the namespace: then it is the rule.
        if _DISAMBIGUATION.search(included):
            self._disambiguation.add(name)
        brings = self._transcluded(included)
        # While a template hides a category by a parameter, most of those that use it are not hidden.
        if _HIDDEN.search(brings.outside):
            self._hiding.add(name)
        self._note_uses(TEMPLATES, name, brings.templates)

    def _note_category(self, name: str, text: str) -> None:
        brings = self._transcluded(_ONLY_INCLUDED.sub("", _NOT_READ.sub("", text)))
        if _HIDDEN.search(brings.outside):
            self._hidden.add(name)
        self._note_uses(CATEGORIES, name, brings.templates)

    def _note_uses(self, namespace: int, name: str, templates: Iterable[str]) -> None:
        self._writer.file.run_many(
            "INSERT INTO uses VALUES (?, ?, ?)", [(namespace, name, template) for template in dict.fromkeys(templates)]
        )

    def _note_links(self, text: str) -> None:
        # A dump states the namespaces' names but not their other names, such as the one that files had before.
        for prefix, rest in (link.groups() for link in _PREFIXED_LINK.finditer(text)):
            folded = prefix.strip().casefold()
            seen = self._prefixes.get(folded)
            if seen is None:
                if len(self._prefixes) >= PREFIXES_MAX:
                    continue
                seen = self._prefixes[folded] = [0, 0]
            seen[0 if rest.rstrip().lower().endswith(_MEDIA) else 1] += 1

    def _transcluded(self, text: str) -> _Transcluded:
        outside: list[str] = []
        names: dict[str, None] = {}
        depth = at = 0
        for brace in _BRACES.finditer(text):
            if brace[0] == "{{":
                if depth == 0:
                    outside.append(text[at : brace.start()])
                    named = _TEMPLATE_NAME.match(text, brace.end())
                    if named and len(names) < USES_MAX:
                        names[named[0]] = None
                depth += 1
            elif depth:
                depth -= 1
                at = brace.end()
        if depth == 0:
            outside.append(text[at:])
        titles = (_template(name, self.site) for name in names)
        return _Transcluded("".join(outside), tuple(title for title in titles if title))

    def _users(self, namespace: int, templates: set[str], *, deep: bool = True) -> set[str]:
        """Return pages of `namespace` that transclude one of `templates`; if `deep`, also indirectly."""
        found: set[str] = set()
        waiting = sorted(templates)
        while waiting:
            rows = self._writer.file.rows(
                "SELECT name FROM uses WHERE template = ? AND namespace = ?", (waiting.pop(), namespace)
            )
            fresh = {name for (name,) in rows} - found
            found |= fresh
            if deep:
                waiting += sorted(fresh)
        return found


def namespaces_with_canonical(stated: Mapping[str, int]) -> dict[str, int]:
    """Return the namespaces by casefolded prefix, with the names that every MediaWiki understands."""
    return CANONICAL_NAMESPACES | {prefix.casefold(): number for prefix, number in stated.items() if prefix}


def _template(name: str, site: Site) -> str:
    """Return the canonical title of the template that `{{name` transcludes; empty if there is none."""
    title = _title(name, site)
    if title is None or name.lstrip().startswith(":") or title.namespace not in (0, TEMPLATES):
        return ""
    return title.text


def _title(raw: str, site: Site) -> WikiTitle | None:
    try:
        return read_title(raw, site)
    except InvalidKey:
        return None
