"""Titles as wikitext writes them: which page of which namespace, or of which other wiki, is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from ramet import InvalidKey, title_key
from ramet.wiki.wikitext.plain_text import decode_entities
from ramet.wiki.wikitext.site import ARTICLES, CATEGORIES, TEMPLATES, Site

TITLE_BYTES_MAX = 255
"""Most bytes of UTF-8 that a title may have without its namespace, as in MediaWiki."""

TALK = 1
CANONICAL_NAMESPACES = {
    "media": -2,
    "special": -1,
    "talk": TALK,
    "user": 2,
    "user talk": 3,
    "project": 4,
    "project talk": 5,
    "file": 6,
    "file talk": 7,
    "image": 6,
    "image talk": 7,
    "mediawiki": 8,
    "mediawiki talk": 9,
    "template": TEMPLATES,
    "template talk": 11,
    "help": 12,
    "help talk": 13,
    "category": CATEGORIES,
    "category talk": 15,
}
"""Prefixes that every MediaWiki understands beside its own, casefolded."""

_CHINESE = {"分類": CATEGORIES, "分类": CATEGORIES, "檔案": 6, "文件": 6, "图像": 6, "圖像": 6}
"""Aliases of both scripts, which a dump does not state."""

_BLANKS = re.compile(r"[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_DIRECTION_MARKS = re.compile(r"[\u200e\u200f\u202a-\u202e]+")
_REFUSED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd<>\[\]{|}]")
_REPLACED = re.compile("\ufffd")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}|&[0-9A-Za-z\x80-\U0010ffff]+;")
_REDIRECT_LINK = re.compile(r"\[\[([^\n]*?)(?:\|[^\n]*?)?\]\]")
_REDIRECT_LINK_LENGTH_MAX = 4_096


@dataclass(frozen=True, slots=True)
class WikiTitle:
    """Page, section or other wiki that a title names.

    Attributes:
        namespace: its number; 0 is the articles', and that of every title on another wiki.
        text: the title in canonical form, without namespace; empty for `[[#a section]]` of the page itself and for
            another wiki's front page. On another wiki it is as written.
        fragment: the section after `#`; empty if none.
        interwiki: casefolded prefix of the other wiki; empty for this one.
    """

    namespace: int
    text: str
    fragment: str = ""
    interwiki: str = ""

    @property
    def is_article(self) -> bool:
        """Whether it names an article of this wiki, and not only a section of the page that it is on."""
        return self.namespace == ARTICLES and not self.interwiki and bool(self.text)


def read_title(raw: str, site: Site) -> WikiTitle:
    """Read a title as it is written between `[[` and `|`, by MediaWiki's rules.

    Percent escapes are decoded once, then character references; `_` and every kind of space are one space. A leading
    `:` is dropped and the namespace read all the same. Without capitals (`site.capital_first`) only NFC is applied.

    Raises:
        ramet.InvalidKey: no page can have this title.
    """
    text = unquote(raw, errors="replace") if "%" in raw else raw
    text = _tidy(_DIRECTION_MARKS.sub("", decode_entities(text)))
    if text.startswith(":"):
        text = _tidy(text[1:])
    namespace, interwiki, text = _prefixes(text, site)
    text, _, fragment = text.partition("#")
    text = text.rstrip()
    _check(text, fragment, raw)
    if interwiki:
        return WikiTitle(ARTICLES, text, fragment, interwiki)
    if text:
        text = _canonical(text, site)
        if len(text.encode()) > TITLE_BYTES_MAX:
            raise InvalidKey(f"the title is over {TITLE_BYTES_MAX} bytes long: shorten it")
    elif namespace != ARTICLES or not fragment:
        raise InvalidKey(f"the title {_shown(raw)} is empty: give at least one character before any '#'")
    return WikiTitle(namespace, text, fragment)


def key_of(title: str, site: Site) -> str:
    """Return the canonical title of an article of this wiki, from the title as it is displayed.

    Raises:
        ramet.InvalidKey: no article can have this title.
    """
    return _canonical(title, site)


def redirect_target(text: str, site: Site) -> WikiTitle | None:
    """Return the title that a page's wikitext redirects to; None if it does not, or if MediaWiki would not follow it.

    It is a redirect if the first that it says is one of `site.redirect_words`, in any case, and a link behind it.
    """
    start = text.find("[[")
    if start < 0:
        return None
    word = text[:start].strip().removesuffix(":").rstrip().casefold()
    if word not in site.redirect_words and word != "#redirect":
        return None
    link = _REDIRECT_LINK.match(text, start, start + _REDIRECT_LINK_LENGTH_MAX)
    if link is None:
        return None
    try:
        return read_title(link[1], site)
    except InvalidKey:
        return None


def namespace_number(prefix: str, site: Site) -> int | None:
    """Return the namespace that `prefix`, without colon and in any case, names; None if none."""
    name = _tidy(prefix).casefold()
    number = site.namespaces.get(name)
    if number is None and site.language.startswith("zh"):
        number = _CHINESE.get(name)
    return CANONICAL_NAMESPACES.get(name) if number is None else number


def _tidy(text: str) -> str:
    return _BLANKS.sub(" ", text).strip(" ")


def _prefixes(text: str, site: Site) -> tuple[int, str, str]:
    """Return (namespace, interwiki, the rest) of a tidy title without leading colon."""
    prefix, colon, rest = text.partition(":")
    prefix, rest = prefix.rstrip(" "), rest.lstrip(" ")
    # A colon after `#` is the fragment's.
    if not colon or not prefix or "#" in prefix:
        return ARTICLES, "", text
    namespace = namespace_number(prefix, site)
    if namespace is not None:
        if namespace == TALK:
            _refuse_talk_of_another(rest, site)
        return namespace, "", rest
    if prefix.casefold() in site.interwiki:
        return ARTICLES, prefix.casefold(), rest.removeprefix(":").lstrip(" ")
    return ARTICLES, "", text


def _refuse_talk_of_another(text: str, site: Site) -> None:
    """Refuse `Talk:File:X`, the talk page of an article that cannot be: its own title would be a file's."""
    prefix, colon, _ = text.partition(":")
    if colon and (namespace_number(prefix, site) is not None or prefix.rstrip(" ").casefold() in site.interwiki):
        raise InvalidKey(f"the title {_shown(text)} has two namespaces: name the talk page of that namespace")


def _check(text: str, fragment: str, raw: str) -> None:
    refused = _REFUSED.search(text) or _ESCAPED.search(text) or _REPLACED.search(fragment)
    if refused:
        raise InvalidKey(f"the title {_shown(raw)} has {refused[0]!a}, which no title may have: remove it")
    if text.startswith(":"):
        raise InvalidKey(f"the title {_shown(raw)} begins with a colon: remove it")
    if "~~~" in text:
        raise InvalidKey(f"the title {_shown(raw)} has '~~~', which is a signature: remove it")
    # Browsers would take these parts of an address for another page.
    if "." in text and not {".", ".."}.isdisjoint(text.split("/")):
        raise InvalidKey(f"the title {_shown(raw)} has '.' or '..' between slashes: remove it")


def _canonical(text: str, site: Site) -> str:
    if site.capital_first:
        return title_key(text)
    # The key's rules but for the capital: nothing composes with a colon, and no title begins with one.
    return title_key(f":{text}")[1:]


def _shown(raw: str) -> str:
    return repr(raw if len(raw) <= 80 else f"{raw[:80]}...")
