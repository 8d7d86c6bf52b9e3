"""Title of an opening on its own page, where nothing states it outright."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from selectolax.lexbor import LexborHTMLParser

from ramet.jobs.text.markup import text_of

TITLE_MAX = 250
HEADINGS_MAX = 40

_MARKED = (
    "meta[property='og:title']",
    "meta[name='og:title']",
    "meta[itemprop='og:title']",
    "meta[name='title']",
    "meta[name='twitter:title']",
    "meta[property='twitter:title']",
    "meta[itemprop='twitter:title']",
)
_BETWEEN = re.compile(r"\s{1,5}[|\u2013\u2014\u00b7\u2022»:@-]\s{1,5}|\s(?:at|bei|chez)\s(?=[A-Z0-9])")
"""Separator between an opening's title and the name of the site."""
_APPLY = re.compile(
    r"^(?:job application for|apply (?:for|to)|now hiring:?|job:|stelle:|we are hiring:?)\s+", re.IGNORECASE
)
_NO_TITLE = re.compile(
    r"(?:the |our |all |current |available |my |your )?"
    r"(?:jobs?|careers?|vacanc(?:y|ies)|openings?|open positions?|positions?|opportunit(?:y|ies)|karriere|stellen"
    r"|stellenangebote?|empleos?|ofertas? de (?:empleo|trabajo)|offres? d.emploi|lediga jobb|home|welcome|loading|apply"
    r"|candidates?|applicants?|recruit(?:ing|ment)|hiring|untitled|error|page|sign in|log ?in|cookies?|privacy"
    r"|share|description|details?|summary|overview|requirements|responsibilities)"
    r"(?: (?:openings?|page|site|portal|details?|description|opportunities|postings?|listings?|search|board|home|now"
    r"|policy|preferences|settings|at .{1,60}|with .{1,60}|us|not found))?\W{0,5}|join (?:us|our team)\W{0,5}"
    r"|work with us\W{0,5}|.{0,20}\b(?:404|403|500)\b.{0,40}|(?:.{1,40} )?(?:careers?|jobs)",
    re.IGNORECASE,
)


def title_of(tree: LexborHTMLParser, names: Iterable[str] = ()) -> str:
    """Return the title, as the page's headings and head have it; empty: none of them is one.

    A text that another one repeats wins; else the first one: headings, then the head's marks.

    Args:
        names: of the company and its site, which pages put behind the title.
    """
    ours = {_folded(name) for name in names} - {""}
    candidates = [text for text in (_without_site(text, ours) for text in _candidates(tree)) if text]
    spoken = [text.casefold() for text in candidates]
    for text in candidates:
        if sum(text.casefold() in other for other in spoken) > 1:
            return text
    return candidates[0] if candidates else ""


def is_no_title(text: str) -> bool:
    """Return whether a text is the title of a page (``Careers``, ``Candidate Portal``), not of an opening."""
    return bool(_NO_TITLE.fullmatch(text))


def _candidates(tree: LexborHTMLParser) -> Iterator[str]:
    yield from _headings(tree, "h1")
    for selector in _MARKED:
        node = tree.css_first(selector)
        if node is not None:
            yield _cleaned(node.attributes.get("content") or "")
    node = tree.css_first("title")
    if node is not None:
        yield _cleaned(node.text(deep=True))
    yield from _headings(tree, "h2[class*=title], h2[class*=position], h2[class*=job], h3[class*=job-title]")
    yield from _headings(tree, "[class*=headline] h2, [class*=posting] > h2")


def _headings(tree: LexborHTMLParser, selector: str) -> Iterator[str]:
    for node in tree.css(selector)[:HEADINGS_MAX]:
        yield _cleaned(node.text(deep=True, separator=" "))


def _cleaned(text: str) -> str:
    line = _APPLY.sub("", " ".join(text_of(text[: 8 * TITLE_MAX]).split()))
    return line if len(line) <= TITLE_MAX else ""


def _without_site(text: str, names: set[str]) -> str:
    """Return the text without the names of the site around it; empty where nothing else is in it."""
    while found := list(_BETWEEN.finditer(text)):
        last = text[found[-1].end() :]
        if "|" not in found[-1][0] and not is_no_title(last) and _folded(last) not in names:
            break
        text = text[: found[-1].start()].rstrip()
    before = _BETWEEN.search(text)
    if before is not None and _folded(text[: before.start()]) in names:
        text = text[before.end() :]
    return "" if is_no_title(text) or _folded(text) in names else text


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
