"""From markup to plain text, and markup that no parser takes long for.

Both go over the text once, by one pattern that cannot fail after it began to match. No tree is built: a parser that
builds one takes quadratic time for a page of nothing but ``<div>``, and what is read here comes from anybody.
"""

from __future__ import annotations

import re
from html import unescape

DEPTH_MAX = 400
"""Elements within one another that :func:`bounded` lets through. Pages of people have fewer than 100."""
ATTRIBUTES_MAX = 500
"""Attributes of one tag that :func:`bounded` lets through."""

_BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre section summary table tbody"
    " tfoot thead tr ul".split()
)
"""Elements that begin and end a line."""
_CELLS = frozenset({"td", "th", "option"})
"""Elements that end a word."""
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_UNCLOSED = frozenset("p li dt dd tr td th option thead tbody tfoot".split())
"""Elements whose end may be left out; they lie in one another only with another element between them."""
_UNREAD = "script|style|title|template|noscript|svg|iframe|object|select|textarea|noembed|noframes|xmp"
"""Elements whose content is not text of the page."""

_ATTRIBUTES = r"""(?>(?:[^"'>]++|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*)"""
_TOKEN = re.compile(
    rf"""<(?:(?P<unread>{_UNREAD})(?=[\s/>])(?P<of_unread>{_ATTRIBUTES})>?.*?(?:</(?P=unread)\b[^>]*+>?|\Z)"""
    rf"""|!--.*?(?:-->|\Z)"""
    rf"""|[!?][^>]*+>?"""
    rf"""|(?P<end>/?)(?P<name>[a-z][^\s/>]*+)(?P<attributes>{_ATTRIBUTES})>?)""",
    re.IGNORECASE | re.DOTALL,
)
_BLOCK_TAG = re.compile(r"<(?:p|br|div|li|ul|ol|tr|h[1-6]|table|section|article)(?=[\s/>])", re.IGNORECASE)
_LINES_MIN = 5
_LONG_NUMBER = re.compile(r"&#(?:\d{8,}|[xX][0-9a-fA-F]{7,});?")
"""Reference to no character; the standard library would make a number of it, however long it is."""
_USUAL = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&nbsp;", "\u00a0"), ("&#39;", "'"))
"""The commonest character references."""
_UNSEEN = [0x0, 0xAD, 0x200B, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""NUL, soft hyphens, marks of no width, and those that turn the direction of what follows."""
_UNSEEN_CHARACTERS = re.compile("[" + "".join(map(chr, _UNSEEN)) + "]")


def text_of(html: str) -> str:
    """Return the plain text of a fragment or of a page's body.

    Block elements and items of lists are on lines of their own, without empty lines; scripts, styles, forms' choices
    and comments are gone; character references are decoded once; runs of white space are one space. A text without any
    block element keeps its lines, and so does one of many lines with a few of them.
    """
    if "<" in html:
        if _BLOCK_TAG.search(html) and not _has_lines(html):
            html = html.replace("\n", " ").replace("\r", " ")
        html = _TOKEN.sub(_between, html)
    return folded(decoded(html))


def _has_lines(html: str) -> bool:
    """Return whether line breaks are meant: more than block elements, and few lines begin with a small letter."""
    lines = [line for line in html.splitlines() if line.strip()]
    if len(lines) < _LINES_MIN or len(_BLOCK_TAG.findall(html)) * 2 > len(lines):
        return False
    return sum(line.lstrip()[0].islower() for line in lines) * 10 < len(lines)


_DECODED_TWICE = re.compile(
    "[\u00c2-\u00f4](?:[\u0080-\u00bf]{1,3}|[\u00a0-\u00bf\u0152-\u0178\u02c6-\u02dc\u2013-\u203a\u20ac\u2122]{1,3})"
)
"""A character of UTF-8 that was read as Latin 1 or as Windows 1252: ``\u00e2\u20ac\u2122`` for an apostrophe."""


def decoded_once(text: str) -> str:
    """Return the text with characters that were decoded by the wrong table as they were meant."""
    return text if text.isascii() else _DECODED_TWICE.sub(_as_meant, text)


def _as_meant(wrong: re.Match[str]) -> str:
    for table in ("latin-1", "cp1252"):
        try:
            return wrong[0].encode(table).decode("utf-8")
        except UnicodeError:
            continue
    return wrong[0]


def decoded(text: str) -> str:
    """Return the text with its character references decoded, once. It has no lone surrogates."""
    if "&" in text:
        text = _LONG_NUMBER.sub("\ufffd", text) if "&#" in text else text
        # Most are these few: each is replaced at once, and the ampersand last, so that nothing is decoded twice.
        text = "&".join(map(_decoded_part, text.split("&amp;")))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _decoded_part(text: str) -> str:
    """Return a text without any ``&amp;``, decoded."""
    if "&" not in text:
        return text
    for reference, character in _USUAL:
        text = text.replace(reference, character)
    return unescape(text) if "&" in text else text


def folded(text: str) -> str:
    """Return the text with single spaces, without empty lines, unseen characters and marks that turn its direction.

    The hyphens of typesetters become those of a keyboard.
    """
    if not text.isascii() or "\0" in text:
        # Not by a table: that looks every character up, and most texts have none of these.
        text = _UNSEEN_CHARACTERS.sub("", text).replace("\u2010", "-").replace("\u2011", "-")
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def bounded(html: str) -> str:
    """Return the same markup, cut where a parser that builds a tree would need quadratic time from there on.

    That is where elements lie more than :data:`DEPTH_MAX` deep or a tag has more than :data:`ATTRIBUTES_MAX`
    attributes. Give it to such a parser instead of markup from outside. Lone surrogates, which it refuses, are gone.
    """
    if not html.isascii():
        html = html.encode("utf-8", "replace").decode("utf-8")
    if html.count("<") <= DEPTH_MAX and len(html) <= ATTRIBUTES_MAX * 2:
        return html
    depth = 0
    for token in _TOKEN.finditer(html):
        attributes = token["attributes"] or token["of_unread"] or ""
        if len(attributes) > ATTRIBUTES_MAX * 2 and _count(attributes) > ATTRIBUTES_MAX:
            return html[: token.start()]
        name = (token["name"] or "").lower()
        if not name or name in _VOID or name in _UNCLOSED:
            continue
        depth = max(depth - 1, 0) if token["end"] else depth + 1
        if depth > DEPTH_MAX:
            return html[: token.start()]
    return html


def _between(token: re.Match[str]) -> str:
    """Return the text that replaces a tag: a line end, a space or nothing."""
    name = (token["name"] or "").lower()
    if name in _BLOCKS:
        return "\n"
    return " " if name in _CELLS or token["unread"] else ""


_VALUE = re.compile(r""""[^"]*+"?|'[^']*+'?""")


def _count(attributes: str) -> int:
    """Return the number of attributes of a tag, or a few more."""
    return len(_VALUE.sub(" ", attributes).replace("/", " ").split())
