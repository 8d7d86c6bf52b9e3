"""Names of companies: when two spellings are one company.

A key is for looking up, so marks on letters stay: Škoda is not Skoda and Ġenerali is not Generali. Comparing two
names allows for a slip in a long one, and never for a part: Meta is not Metabase.
"""

from __future__ import annotations

import re
import unicodedata

from rapidfuzz import fuzz

# ruff: noqa: RUF001 - legal forms are written in Cyrillic letters too


RATIO_MIN = 92.0
"""Least similarity, of 100, at which two keys are one company (facts/jobs.md §4)."""

_LENGTH_MAX = 200
"""Characters of a name that count. No company's name is longer, and the time to compare grows with their square."""

_DOT_ABOVE = "\u0307"
"""Combining dot that lower case adds to a Turkish capital I with a dot; it is in no written name."""
_APOSTROPHES = re.compile("['`\\u00b4\\u02bc\\u2018\\u2019]")
_INITIALS = re.compile(r"(?<!\w)(?:\w\.){2,12}(?:\w(?!\w))?")

_LAST = frozenset(
    """
    inc incorporated corp corporation co company companies ltd limited llc llp lp lllp plc pllc pbc cic
    gmbh mbh ag kg kgaa ohg ug se sa sas sasu sarl sàrl srl srls spa sl slu slp sau scs snc sca
    bv nv vof cv bvba sprl oy oyj ab aktiebolag as asa aps ivs a/s hf ehf oü uab sia eood ood ead
    doo sro kft zrt nyrt oao ooo zao pao ооо оао зао пао ао тов lda ltda eireli
    kk gk pty pte pvt private proprietary sdn bhd berhad tbk pjsc psc fze fzco fzc jsc ojsc
    limitada anonim şirketi aş
    株式会社 有限会社 合同会社 有限公司 股份有限公司 有限责任公司 주식회사 유한회사 株 有 주
    """.split()
)
"""Words at the end of a name that give its legal form."""
_LAST_SEVERAL = (
    ("sp", "z", "oo"),
    ("sp", "z", "o", "o"),
    ("z", "oo"),
    ("s", "r", "o"),
    ("d", "o", "o"),
    ("s", "a"),
    ("a", "s"),
    ("de", "cv"),
    ("de", "rl"),
    ("s", "de"),
    ("sab",),
    ("sapi",),
    ("career", "site"),
    ("job", "board"),
    ("careers",),
)
"""The same in several words; and words that a job board puts behind the name."""
_FIRST = frozenset(
    "株式会社 有限会社 合同会社 주식회사 유한회사 株 有 주 ооо оао зао пао ао тов ooo oao zao pao".split()
)
_UNSPACED = ("株式会社", "有限会社", "合同会社", "股份有限公司", "有限责任公司", "有限公司", "주식회사", "유한회사")
"""Forms that are written without a space to the name."""


def company_name_key(name: str | None) -> str:
    """Return the name as it is looked up: one case, one width, without punctuation and legal form; any script.

    Returns:
        Words with one space between them. Empty only where there is no name; a name that is all legal form, or
        all punctuation, stays what it is.
    """
    folded = _folded(name or "")
    words = _words(folded)
    if not words:
        return " ".join(folded.split())
    return " ".join(_without_form(words))


def same_company(a: str, b: str) -> bool:
    """Return whether two names are one company: equal keys, or as good as equal with the same numbers in them."""
    one, other = company_name_key(a), company_name_key(b)
    if not one or not other:
        return False
    if one == other:
        return True
    # "Git Lab" is GitLab.
    one, other = one.replace(" ", ""), other.replace(" ", "")
    if re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return False
    return fuzz.ratio(one, other) >= RATIO_MIN


def _folded(name: str) -> str:
    # Marks may be written apart from their letters: composed first, so that both forms are cut at one letter.
    composed = unicodedata.normalize("NFKC", name[: 5 * _LENGTH_MAX])[:_LENGTH_MAX]
    text = composed.casefold().replace(_DOT_ABOVE, "")
    return unicodedata.normalize("NFKC", text)


def _words(folded: str) -> list[str]:
    text = _INITIALS.sub(lambda found: found[0].replace(".", ""), folded)
    text = _APOSTROPHES.sub("", text).replace("&", " and ").replace("a/s", "as")
    return "".join(c if _is_letter(c) else " " for c in text).split()


def _is_letter(character: str) -> bool:
    # Vowel signs of Indic scripts are marks and part of the word.
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _without_form(words: list[str]) -> list[str]:
    kept = list(words)
    while len(kept) > 1 and kept[0] in _FIRST:
        kept = kept[1:]
    while (shorter := _one_less(kept)) != kept:
        kept = shorter
    if len(kept) == 1:
        kept = [_unspaced(kept[0])]
    if len(kept) > 2 and kept[0] == "the":
        return kept[1:]
    return words if kept == ["the"] else kept


def _one_less(words: list[str]) -> list[str]:
    if len(words) < 2:
        return words
    for several in _LAST_SEVERAL:
        if len(words) > len(several) and tuple(words[-len(several) :]) == several:
            return words[: -len(several)]
    if words[-1] in _LAST or words[-1] == "and":
        return words[:-1]
    return words


def _unspaced(word: str) -> str:
    for form in _UNSPACED:
        bare = word.removeprefix(form).removesuffix(form)
        if bare and bare != word:
            return bare
    return word


_BETWEEN = re.compile(r"\s{1,5}[|\u2013\u2014\u00b7\u2022»:-]\s{1,5}")
_BOARD_WORDS = re.compile(
    r"(?:(?:\s|^)(?:careers?|jobs?|job board|open positions|openings|current openings|recruiting|recruitment|talent"
    r"|karriere|stellenangebote|hiring|external|site|page))+\s{0,3}$"
    r"|^(?:careers?|jobs?|openings|open positions|work|join|karriere)\s{1,3}(?:at|with|for|bei|chez|:)?\s{0,3}",
    re.IGNORECASE,
)
_NAME_MAX = 300


def company_fits(board_name: str | None, company: str | None) -> bool:
    """Return whether a board may be the company's.

    Args:
        board_name: as the board says it (``Acme Careers``); None: it does not say, and nothing speaks against it.
        company: the name that is known; None: of any company.
    """
    if not board_name or not board_name.strip() or not company or not company.strip():
        return True
    name = " ".join(board_name[:_NAME_MAX].split())
    spellings = {name, *_BETWEEN.split(name)}
    spellings |= {_BOARD_WORDS.sub("", _BOARD_WORDS.sub("", spelling)).strip() for spelling in spellings}
    return any(same_company(spelling, company) for spelling in spellings if spelling)


ALIKE_MIN = 4
"""Characters that a name and a domain have in common at their beginning, at least, when they are not equal."""


def is_named_alike(label: str, name: str) -> bool:
    """Return whether a domain's label (`acme`, `acmelabs`) may be of a company of this name."""
    key = company_name_key(name).replace(" ", "")
    label = label.replace("-", "")
    short = min(len(key), len(label))
    return bool(short) and (key == label or (short >= ALIKE_MIN and (key.startswith(label) or label.startswith(key))))
