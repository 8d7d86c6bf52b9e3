"""Places from where people may work, as a text states them: "must be authorized to work in the US", "Canada only"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ramet.jobs.text.areas import marks_of, names_pattern
from ramet.jobs.text.word_places import places_of_word, searched

_WHO = r"(?:candidates?|applicants?|applications|people|talent|individuals|residents|employees|engineers|developers)"
_PLACED = r"(?:based|located|living|residing|resident|reside|live|domiciled|working|work)"
_OF_PLACED = ("based", "locate", "liv", "resid", "domicile", "work")
_OF_WHO = (
    "candidate", "applica", "people", "talent", "individual", "resident", "employee", "engineer", "developer",
)  # fmt: skip
"""One of these is in every match of the expression above."""
_NOT_SO = re.compile(
    r"(?:\bnot?\b|n't|n\u2019t|\bwithout|\bif\b|\bwhether|\bno need|\bregardless|\bexcept|\bexclud\w+|\boutside)"
    r"[^.;\n]{0,30}$",
    re.IGNORECASE,
)
"""Words before a statement that take it back or leave it open."""
_PAY = re.compile(r"\b(?:salary|pay|compensation|base|wage|range|benefits?|privacy|notice)\b", re.IGNORECASE)
"""Words beside "candidates in California" that speak of their pay or rights, not of permission to apply."""


class _Statement(NamedTuple):
    words: tuple[str, ...]
    """One of these is in every such sentence."""
    others: tuple[str, ...]
    """Words of which one is beside it."""
    before: int
    """Characters before the word that are looked at."""
    after: int
    said: re.Pattern[str]


@cache
def _statements() -> tuple[_Statement, ...]:
    """Return the kinds of sentences; each expression has the names of places as ``where``."""
    where = rf"(?P<where>{names_pattern()})"
    how = r"(?:legally |currently |already |physically |permanently |primarily )*"
    placed = rf"(?: (?:who are |currently |that are |from )*{_PLACED})?"
    kinds = (
        (("to work ", "to live and work"), ("in ",), 40, 110,
         r"(?i:(?:authori[sz]ed|authori[sz]ation|eligible|eligibility|rights?|legally able|entitled|permitted) to"
         r" (?:live and |legally )?work(?: and (?:live|reside))?(?: legally| lawfully| permanently)?"
         rf" (?:with)?in) {where}"),
        (("must ", "need to ", "needs to ", "required to ", "have to ", "has to ", "should "), _OF_PLACED, 0, 130,
         rf"(?i:\w+(?: to)?(?: already)?(?: be)? {how}(?:be )?{_PLACED}(?: and \w+)? (?:with)?in) {where}"),
        (("you live ", "you reside ", "you are ", "you're ", "you\u2019re "), _OF_PLACED, 0, 100,
         rf"(?i:you(?: are|['\u2019]re)?(?: currently| already)? {_PLACED} (?:with)?in) {where}"),
        (("only ", "currently ", "exclusively "), ("in ", "from "), 0, 130,
         r"(?i:\w+ (?:\w+ )?(?:open to|available (?:to|in)|considering|accepting|accept|consider|hiring|hire|seeking"
         rf"|for)(?: {_WHO})?{placed} (?:with)?(?:in|from)) {where}"),
        (("open ", "available ", "limited ", "restricted "), _OF_WHO, 0, 130,
         rf"(?i:\w+ (?:only )?to (?:{_WHO}){placed} (?:with)?(?:in|from)) {where}"),
        ((" only", "-only"), ("",), 70, 8,
         rf"{where}[- ](?i:(?:based )?(?:{_WHO} |citizens |residents |remote )?only\b)"),
        (("remote",), ("",), 0, 80,
         r"(?i:remote(?:ly)?(?: (?:work|role|position|job))?[ ,:(\u2013-]{1,3}"
         rf"(?:(?:with)?in |from |across |anywhere in ){{0,2}}){where}"
         r"(?!(?: [A-Z]{2,4})? ?(?i:time|hours|business hours|working hours))"),
        (("citizen", "permanent resident", "authorization required", "authorization is required", "permit is required",
          "residency required"), ("must be", "requir"), 50, 40,
         rf"(?i:(?:must be|requires?|required:) (?:an? )?){where} (?i:citizen(?:s|ship)?|permanent resident)\b"
         rf"|(?P<where2>{names_pattern()})"
         r" (?i:(?:citizenship|work (?:authori[sz]ation|permit)|residency) (?:is |are )?required\b)"),
    )  # fmt: skip
    return tuple(
        _Statement(searched(*words), others, before, after, re.compile(said))
        for words, others, before, after, said in kinds
    )


def work_marks(text: str, lower: str) -> tuple[str, ...]:
    """Return the marks (see :mod:`ramet.jobs.text.areas`) of all places from which a text says people may work.

    Args:
        text: the description, plain, as it is written: ``US`` counts, ``us`` does not.
        lower: the same in lower case, to search words in.
    """
    if len(lower) != len(text):
        # A letter of some script has another length in lower case: the places of words would be others.
        lower = text
    found: dict[str, None] = {}
    for kind in _statements():
        for told, begin in _stretches(text, lower, kind):
            for match in kind.said.finditer(told, begin):
                before = told[max(0, match.start() - 60) : match.start()]
                if not (_NOT_SO.search(before) or _PAY.search(before.rpartition(".")[2])):
                    found |= dict.fromkeys(marks_of(next(filter(None, match.groupdict().values()))))
    return tuple(found)


def _stretches(text: str, lower: str, kind: _Statement) -> Iterator[tuple[str, int]]:
    """Yield the text around the words of a kind, and the offset to search from; costly expressions see nothing else."""
    for word in kind.words:
        for place in places_of_word(lower, word):
            begin = place - kind.before
            head = max(0, begin - 60)
            if any(lower.find(other, head, place + kind.after) >= 0 for other in kind.others):
                yield text[head : place + kind.after], max(0, begin - head) if begin > 0 else 0
