"""Signals in a company's own words: whether it is remote-first, and whether machine learning is its business.

One stray word decides nothing. Every kind of evidence has points, contrary words take some away, and the
points decide. A product of the company ("for distributed teams") is not a statement about itself and counts as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ramet.jobs.companies.page_content import PROSE_LENGTH_MIN

STATEMENT, PHRASE, WORD, SOFTER, CONTRARY = 3, 2, 1, -1, -2
"""Points: it says so of itself; words for nothing else; words that go with it; words that take some of it back; words
against it."""
WORDS_MAX = 2
"""Points that mere words can make."""

_REMOTE_HEADING = re.compile(
    r"\bremote\b|how we work|where we work|work from anywhere|\bdistributed\b|location policy", re.IGNORECASE
)
_WHOLLY = (
    r"(?:remote[- ]first|remote[- ]only|remote by default|remote[- ]native|all[- ]remote|virtual[- ]first"
    r"|(?:fully|100 ?%|completely|entirely|totally|wholly|full)[- ](?:a )?(?:remote|distributed|virtual)(?:ly)?"
    r"|distributed[- ]first|globally[- ]distributed|highly[- ]distributed|geographically[- ]distributed)"
)
_COMPANY = r"(?:company|organi[sz]ation|team|business|startup|agency|workforce|network|culture|work culture|employer)"
_OF_ITSELF = (
    # We are a fully remote company; our team is distributed; as a remote-first team.
    re.compile(
        rf"\b(?:we(?:'re| are| have been| were| operate| work)|our (?:\w+ ){{0,2}}(?:is|are)|as an?|being|is an?"
        rf"|operates?|is|are) (?:\w+,? ){{0,3}}{_WHOLLY}(?! (?:position|role|job|opening|option)s?\b)",
        re.IGNORECASE,
    ),
    re.compile(rf"\b{_WHOLLY}[, ](?:\w+ ){{0,2}}{_COMPANY}\b", re.IGNORECASE),
    re.compile(
        rf"\b(?:is|are|as|being) (?:an? |the )?(?:remote|distributed)(?:-based| based)? {_COMPANY}\b", re.IGNORECASE
    ),
    re.compile(
        r"\b(?:all|everyone|everybody|every one|each)(?: of)?(?: \w+){0,3} works? (?:fully |100% )?"
        r"(?:remote(?:ly)?|from home|from anywhere)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:no|without)(?: any| a)?(?: physical| central| fixed)? (?:offices?|headquarters|hq)\b", re.IGNORECASE
    ),
    re.compile(
        r"\b(?:9\d|100) ?% (?:of (?:us|our \w+|the \w+) )?(?:works? )?(?:is |are )?remote(?:ly)?\b", re.IGNORECASE
    ),
    re.compile(
        r"\b(?:employees|you|everyone|team members|all of us|our (?:team|people|employees))(?:'ll| will)?"
        r" (?:can |may )?(?:all )?(?:work|live|operate)s? from anywhere",
        re.IGNORECASE,
    ),
)
_PHRASES = (
    re.compile(rf"\b{_WHOLLY}", re.IGNORECASE),
    re.compile(
        r"\b(?:work|working|join us\.?|live|hire[sd]?|hiring) (?:from )?(?:anywhere|any location)\b", re.IGNORECASE
    ),
    re.compile(
        r"\b(?:most|almost all|nearly all|the (?:vast )?majority) of (?:us|our \w+|the \w+)(?: \w+)? (?:are|is"
        r"|works?) remote",
        re.IGNORECASE,
    ),
    re.compile(r"\bdistributed (?:company|team|organi[sz]ation|workforce)\b", re.IGNORECASE),
)
_WORDS = (
    re.compile(r"\bremote(?:ly)?\b", re.IGNORECASE),
    re.compile(r"\bwork(?:ing)? from home\b|\bhome offices?\b|\bwfh\b", re.IGNORECASE),
    re.compile(r"\basync(?:hronous(?:ly)?)?\b", re.IGNORECASE),
    re.compile(r"\b(?:different|across|many|multiple) time ?zones\b|\bteam retreats?\b", re.IGNORECASE),
)
_CONTRARY = (
    re.compile(r"\bhybrid\b(?! cloud| app| mobile)", re.IGNORECASE),
    re.compile(
        r"\bdays? (?:per week |a week )?(?:in|at|from) (?:the|our|an?) ?offices?\b|\bdays in office\b|\bin[- ]office\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:some|several|many|various|certain|part|half|partially|partly|occasional\w*)\b[^.\n]{0,30}\bremote",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:on-?site|in[- ]person) (?:positions?|roles?|work|jobs?|and)\b", re.IGNORECASE),
)

_SOFTER = (
    re.compile(r"\bremote[- ](?:optional|friendly)\b", re.IGNORECASE),
    re.compile(r"\b(?:our|the|main|beautiful|nice) (?:\w+ )?offices? (?:is|are|in|at)\b", re.IGNORECASE),
)

_WITH_A_SUBJECT = (_OF_ITSELF[0], _OF_ITSELF[2], _OF_ITSELF[3])
"""Those that are whole statements and no tags of an opening."""
_WEAKER = ((_CONTRARY, CONTRARY), (_SOFTER, SOFTER), (_WORDS, WORD))
_OF_AN_OPENING = re.compile(r"\b(?:role|position|job|opening|vacancy|opportunity)(?: \w+)? ?\Z", re.IGNORECASE)
_PERKS_HEADING = re.compile(r"\b(?:benefits|perks|what we offer)\b", re.IGNORECASE)
_BEFORE = 40
_SHOWN = 5

_AI_TERMS = {
    "machine learning": re.compile(
        r"\bmachine[- ]learning\b|\bmaschinelle[sn]? lernen\b|\bML\b(?=[ /-](?:model|AI|engineer|platform|ops))"
    ),
    "artificial intelligence": re.compile(
        r"\bartificial intelligence\b|\bkünstliche intelligenz\b|\bintelligence artificielle\b"
    ),
    "deep learning": re.compile(r"\bdeep[- ]learning\b|\bneural net(?:work)?s?\b"),
    "language models": re.compile(r"\bl(?:arge )?l?anguage models?\b|\bllms?\b|\bfoundation models?\b|\bgpt-?\d?\b"),
    "generative AI": re.compile(r"\bgenerative ai\b|\bgen ?ai\b|\bai agents?\b|\bagentic\b"),
    "computer vision": re.compile(r"\bcomputer vision\b|\bobject recognition\b|\bimage recognition\b"),
    "natural language": re.compile(r"\bnatural language (?:processing|understanding)\b|\bnlp\b|\bspeech recognition\b"),
    "AI-driven": re.compile(
        r"\bai[- ](?:powered|driven|first|native|based|enabled|platform|company|research|solutions)\b"
    ),
    "reinforcement learning": re.compile(r"\breinforcement learning\b"),
}
_AI = re.compile(r"\bA\.?I\b")
_TERM_MENTIONS_MAX = 2


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for a signal, with its points."""

    points: int
    found: tuple[str, ...]
    """Words on the pages, those with the most points first; at most five."""


def remote_evidence(sections: Iterable[tuple[str, str]]) -> Evidence:
    """Return the evidence that people work remotely there unless something else is agreed.

    Args:
        sections: heading and lines of text. Under a heading about where people work a phrase is a statement. Short
            lines elsewhere are often openings ("Sales, fully remote"): only whole statements count in them.
    """
    counted = _RemoteEvidence({}, {})
    for heading, text in sections:
        if _REMOTE_HEADING.search(heading):
            counted.add(heading, ((_WITH_A_SUBJECT, STATEMENT),))
            counted.add(text, ((_OF_ITSELF, STATEMENT), (_PHRASES, STATEMENT), *_WEAKER))
            continue
        lines = text.split("\n")
        told = [line for line in lines if _PERKS_HEADING.search(heading) or _is_sentence(line)]
        short = [line for line in lines if not _is_sentence(line)]
        counted.add("\n".join(told), ((_OF_ITSELF, STATEMENT), (_PHRASES, PHRASE), *_WEAKER))
        counted.add("\n".join([heading, *short]), ((_WITH_A_SUBJECT, STATEMENT), (_WORDS, WORD)))
    return counted.evidence()


@dataclass(frozen=True, slots=True)
class _RemoteEvidence:
    """Evidence for remote work so far. Each pattern counts once, however many pages repeat it in a menu."""

    points: dict[re.Pattern[str], int]
    found: dict[re.Pattern[str], str]

    def add(self, text: str, kinds: Iterable[tuple[Sequence[re.Pattern[str]], int]]) -> None:
        for patterns, worth in kinds:
            for pattern in patterns:
                first = _first(pattern, text) if worth > 0 else pattern.search(text)
                if first is not None and abs(worth) > abs(self.points.get(pattern, 0)):
                    self.points[pattern] = worth
                    self.found[pattern] = " ".join(first[0].split())
                # Words that have counted do not count once more as a weaker word.
                text = pattern.sub(" ", text)

    def evidence(self) -> Evidence:
        words = min(sum(self.points.get(pattern, 0) for pattern in _WORDS), WORDS_MAX)
        others = {pattern: worth for pattern, worth in self.points.items() if pattern not in _WORDS}
        # An office that it has as well takes nothing from what it says outright.
        if STATEMENT in others.values():
            others = {pattern: worth for pattern, worth in others.items() if worth != SOFTER}
        shown = sorted(self.found, key=lambda pattern: -abs(others.get(pattern, 0)))
        return Evidence(sum(others.values()) + words, tuple(self.found[pattern] for pattern in shown[:_SHOWN]))


def _first(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the first match that is not about a single opening: "this role is fully remote"."""
    for found in pattern.finditer(text):
        if not _OF_AN_OPENING.search(text, max(0, found.start() - _BEFORE), found.start()):
            return found
    return None


def _is_sentence(line: str) -> bool:
    return len(line) >= PROSE_LENGTH_MIN or line.rstrip().endswith((".", "!", "?"))


def ai_ml_evidence(about: str, text: str) -> Evidence:
    """Evidence that machine learning is what the company does, not what it mentions.

    Args:
        about: the company's description of itself: each term in it has two points.
        text: everything else, in which each term has a point a mention, at most two.
    """
    points = 0
    found: list[str] = []
    lower_about, lower = about.lower(), text.lower()
    for term, pattern in _AI_TERMS.items():
        worth = 2 * bool(pattern.search(lower_about)) + _mentions(pattern, lower)
        if worth:
            points += worth
            found.append(term)
    points += bool(_AI.search(about)) + bool(_AI.search(text))
    return Evidence(points, tuple(found[:_SHOWN]))


def _mentions(pattern: re.Pattern[str], text: str) -> int:
    count = 0
    for _ in pattern.finditer(text):
        count += 1
        if count == _TERM_MENTIONS_MAX:
            break
    return count
