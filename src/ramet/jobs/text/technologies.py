"""Which technologies a text names: whole words, by a dictionary, in one pass.

A word is looked up whole, so ``ai`` is not found in ``email``; ``C#``, ``C++``, ``.NET`` and ``Node.js`` are words. A
word of every day (``Go``, ``C``, ``Spring``) counts only beside another technology in a list, or beside a word that
tells that it is one (``in Go``, ``Go services``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from ramet.jobs.text import word_list

_WORDS = re.compile(r"(\w+(?:(?=[.+#♯])(?:\.\w+)*(?:\+\+|[#♯](?!\w))?)?)")
_NET = re.compile(r"\.(?<![\w.]\.)(?=[Nn][Ee][Tt]\b)")
"""The dot of ``.NET``, which is a letter of its name."""
_ADDRESS = re.compile(r"https?://\S+|www\.\S+")
_TOP_LEVEL = frozenset("com org net io co dev ai app de eu uk".split())
_INNER = frozenset({" ", "-", "\xa0", "\u2010", "\u2011", "  "})
"""Separators between the words of one name."""
_JOINED = frozenset("-&'\u2019$@_\u2010\u2011")
"""Characters that join the word beside them to another word: ``R&D``, ``C-level``, ``Go-to``."""
_LIST = re.compile(r"[\s,/()|•·*+:;\[\]\u2013—-]{1,6}")
_CONJUNCTIONS = frozenset("and or e y o u und oder et ou & plus like as with".split())
_BEFORE = frozenset(
    "in using language languages knowledge programming modern proficient fluent idiomatic advanced strong write writing"
    " wrote coding code scripting expert senior junior know learn with em en".split()
)
_BEFORE_OF = frozenset(
    "knowledge experience familiarity proficiency expertise mastery command understanding fluency skills comfortable"
    " worked working".split()
)
"""Words before "of" or "with" and a name: ``working knowledge of Go``, ``experience with Hex``."""
_AFTER = frozenset(
    "developer developers engineer engineers programmer programming language code codebase codebases microservices"
    " microservice services service backend backends framework applications application apps app scripting scripts"
    " functions api apis skills knowledge familiarity proficiency expertise sdk library libraries stack clusters"
    " cluster jobs pipelines".split()
)


_NOT_A_NAME = re.compile(
    r"\bTS\s?[/-]\s?\(?S(?:CI|AP)\b|\bTS(?=\s(?:clearance|security|with|and poly))"
    r"|\bPHP\s?(?=\d{1,3},?\d{3}|\d{2,3}k\b)"
    r"|(?<=\d)\s?PHP\b(?!\s?\d\.)"
    r"|\bLinear(?=\s(?:[Aa]lgebra|[Rr]egress|[Pp]rogram|[Mm]odel|[Oo]ptimi|[Aa]nd\s[Nn]on))"
    r"|\bCore Data(?=\s(?:[Mm]odel|[Pp]latform|[Tt]eam|[Ee]ngineer|[Pp]roduct|[Ss]et|[Pp]ipeline|[Ss]cien|[Ss]ervice"
    r"|[Aa]naly|[Aa]sset|[Ii]nfra|[Gg]overnance))"
    r"|\bReAct\b(?!\s?(?:Native|JS|[.]js))"
    r"|\bReact(?=\s(?:to|swiftly|quickly|promptly|fast|rapidly)\b)|\bHTML(?=\sJD\b)"
    r"|\bSnowflake(?=[ -](?:[Ss]chema|[Mm]odel))"
)
"""Clearances (``TS/SCI``), pesos (``PHP 90,000``) and words of every day that begin with the letters of a name."""
_HAS_NO_NAMES = ("TS", "PHP", "Linear", "Core Data", "ReAct", "React ", "HTML JD", "Snowflake")
"""One of these is in every match of it."""
_CUSTOMERS = re.compile(
    r"\b(?:compan(?:y|ies)|customers|clients|client (?:list|roster)|brands|organi[sz]ations|startups|investors)"
    r"(?: [,\u2013-]|,)? (?:like|such as|including|includes?) [^.;:\n]*",
    re.IGNORECASE,
)
_NAMES_FOLLOW = (" like ", " such as ", " includ")
"""One of these is in every sentence that names customers: ``used by companies like OpenAI, Toyota and Figma``."""
_OFFICES = frozenset("ceo cto cfo coo cofounder founder founders co chairman alumni".split())
"""Words behind a company's name that give a person's office: ``Docker CEO``."""
_EXAMPLES = re.compile(
    r"\b(?:tools?|technologies|frameworks?|librar(?:y|ies)|software|databases?|programming languages?),?"
    r"(?: like| such as| including|,? ?\(?e\.? ?g\.?,?|:)?[ (]{0,3}$",
    re.IGNORECASE,
)
"""Words before a list of names that say what the names are."""
_WELDING = re.compile(r"\bweld(?:ing|er|ers|ed)\b|\baws[ -](?:d\d|cwi|qc\d|certified w|w)")
"""Words of texts in which ``AWS`` is the American Welding Society; in lower case."""
_OF_WELDING = ("weld", *(f"aws{joint}{word}" for joint in " -" for word in ("d", "cwi", "qc", "certified w", "w")))
"""One of these is in every match of it."""
_OR = frozenset("or o ou oder of lub".split())
_OR_SIMILAR = re.compile(
    r"[\s,(/]{0,3}(?:or|and/or|o|ou|oder|of|lub)\s(?:an?\s|some\s|any\s|other\s|another\s|comparable|equivalent|similar"
    r"|related|like\b|the\slike|[\u00e4a]hnlich|vergleichbar|similaire|[\u00e9e]quivalent|simil)"
)
"""Behind a list: ``or similar``, ``or another language``."""
_ONE_OF = re.compile(
    r"(?:\b(?:one|any|either|some)(?: or (?:more|two|several))? (?:of(?: the following)?|among)"
    r"|\bat least (?:one|two)(?: of)?|\be\.?g\.?|\bi\.e\.|\bfor example|\bfor instance|\beither)[\w\s,:(]{0,40}$"
)
"""Words before a list: ``one of``, ``at least one of the following languages:``, ``e.g.``."""
_DIVIDES = re.compile(r"[()\[\]\n;\u2022\u00b7|]")
"""Characters between two names that end a group of alternatives."""
_AND = re.compile(r"\b(?:and|und|et|plus|with)\b|&")
_CHOICE = re.compile(r"\b(?:or|either|one of|any of|at least one|e\.?g|for example|o|ou|oder|of|lub)\b", re.IGNORECASE)
"""One of these is in every text with alternatives."""
_WEAK_MIN = 3
"""Least names in a row that are meant though they are words of every day: ``Pig, Flume, Storm``."""


class _Name(NamedTuple):
    tail: list[str]
    """The words after the first, in lower case."""
    joints: tuple[str, ...]
    """Separators between the words: ``/``, or a space for any of the usual."""
    canonical: str
    mark: str
    written: list[str]
    """The words as the table writes them."""


class _Hit(NamedTuple):
    first: int
    last: int
    canonical: str
    weak: bool


def find_technologies(text: str) -> dict[str, int]:
    """Return the technologies that a text names, in the order of their first mention.

    Returns:
        Canonical name (lower case: ``c#``, ``node.js``, ``google cloud``) to the number of mentions.
    """
    parts, hits = _meant_hits(text)
    found: dict[str, int] = {}
    for hit in hits:
        found[hit.canonical] = found.get(hit.canonical, 0) + 1
        if hit.last > hit.first and parts[hit.first] == "AWS":
            # "AWS Lambda" names the cloud as well as its service.
            found["aws"] = found.get("aws", 0) + 1
    if "aws" in found and _is_welding(text):
        del found["aws"]
    return found


def _is_welding(text: str) -> bool:
    lower = text.lower()
    return any(word in lower for word in _OF_WELDING) and _WELDING.search(lower) is not None


def find_alternatives(text: str) -> tuple[tuple[str, ...], ...]:
    """Find groups of technologies of which a text asks for one: ``such as Java, Go, C#, or similar``.

    Returns:
        Groups of canonical names. A name of a group that the text has elsewhere too, outside of all groups, is a group
        of its own as well: it is asked for whatever the others are.
    """
    if " or " not in text and not _CHOICE.search(text):
        return ()
    parts, hits = _meant_hits(text)
    groups: dict[tuple[str, ...], None] = {}
    alone: set[str] = set()
    for row in _rows(parts, hits, _DIVIDES):
        is_one = len(row) > 1 and _is_enough(parts, row)
        for part in [row] if is_one else _rows(parts, row, _AND):
            names = tuple(dict.fromkeys(hit.canonical for hit in part))
            if len(names) > 1 and (is_one or _has_or(parts, part)):
                groups[names] = None
            else:
                alone.update(names)
    chosen = dict.fromkeys(name for group in groups for name in group)
    return (*groups, *((name,) for name in chosen if name in alone)) if groups else ()


def _rows(parts: list[str], hits: Sequence[_Hit], divider: re.Pattern[str]) -> Iterator[Sequence[_Hit]]:
    """Divide names into rows, each a list without a divider between its names."""
    begin = 0
    for end in range(1, len(hits) + 1):
        if end < len(hits) and _is_list(parts, hits[end - 1], hits[end]):
            between = "".join(parts[hits[end - 1].last + 1 : hits[end].first])
            if divider.search(between) is None:
                continue
        yield hits[begin:end]
        begin = end


def _has_or(parts: list[str], row: Sequence[_Hit]) -> bool:
    return any(
        parts[place].lower() in _OR for one, other in pairwise(row) for place in range(one.last + 2, other.first, 2)
    )


def _is_enough(parts: list[str], row: Sequence[_Hit]) -> bool:
    """Return whether the words before or behind a row say that one of it is enough."""
    behind = "".join(parts[row[-1].last + 1 : row[-1].last + 10]).lower()
    before = "".join(parts[max(0, row[0].first - 14) : row[0].first]).lower()
    return _OR_SIMILAR.match(behind) is not None or _ONE_OF.search(before) is not None


@lru_cache(maxsize=4)
def _meant_hits(text: str) -> tuple[list[str], list[_Hit]]:
    """Return the parts of a text and the names in it that are meant. Remembered: the same text is asked twice."""
    if any(word in text for word in _HAS_NO_NAMES):
        text = _NOT_A_NAME.sub(" ", text)
    if any(words in text for words in _NAMES_FOLLOW):
        text = _CUSTOMERS.sub(" ", text)
    parts = _parts(text)
    hits = [hit for hit in _hits(parts) if not _is_company(parts, hit)]
    meant = [not hit.weak or _is_meant(parts, hit) for hit in hits]
    if not all(meant):
        _mean_rows(parts, hits, meant)
        _spread(parts, hits, meant)
    return parts, [hit for hit, is_meant in zip(hits, meant, strict=True) if is_meant]


def canonical_technology(name: str) -> str:
    """Return the one name of a technology: ``NodeJS`` is ``node.js``. An unknown one stays, in lower case with single
    spaces.
    """
    folded = " ".join(name.lower().split())
    return _SPELLINGS.get(folded, folded)


_LEGAL = frozenset(
    "labs lab inc llc ltd limited gmbh ag se corp corporation company co group software technologies hq".split()
)


def products_of(company: str) -> tuple[str, ...]:
    """Return canonical names of what a company makes: its own name, and the products that the table lists."""
    name = " ".join(company.lower().split())
    words = name.split(" ")
    while len(words) > 1 and words[-1].strip(".,") in _LEGAL:
        words.pop()
    name = " ".join(words)
    listed = (product for length in (1, 2) for product in _MADE_BY.get(" ".join(words[:length]), ()))
    return (canonical_technology(name), *listed)


def is_technology(name: str) -> bool:
    """Return whether a name is one of a technology, however it is written."""
    return " ".join(name.lower().split()) in _SPELLINGS


def _parts(text: str) -> list[str]:
    """Return a text as separators and words in turn; the first and the last part are separators."""
    if "://" in text or "www." in text:
        text = _ADDRESS.sub(" ", text)
    parts = _split(text)
    dotted = [place for place in range(1, len(parts), 2) if "." in parts[place]]
    whole: list[str] = []
    last = 0
    for place in dotted:
        word = parts[place]
        pieces = word.split(".")
        if word.lower() not in _NAMES and pieces[-1].lower() not in _TOP_LEVEL:
            # Sentences without a space between them.
            whole += parts[last:place]
            whole += [part for piece in pieces for part in (piece, ".")][:-1]
            last = place + 1
    return whole + parts[last:] if last else parts


def _split(text: str) -> list[str]:
    return _WORDS.split(_NET.sub("dot", text) if "." in text else text)


def _hits(parts: list[str]) -> Iterator[_Hit]:
    """Yield every name in the text, the longest at each word."""
    names = _FIRST_WORDS
    words = parts[1::2]
    last = -1
    for word in [place for place, written in enumerate(words) if names[written] is not None]:
        place = 2 * word + 1
        if place <= last:
            continue
        begun = names[words[word]]
        assert begun is not None, "chosen above"
        for name in begun.at(words[word + 1].lower() if word + 1 < len(words) else ""):
            if _stands_at(parts, words, word, name):
                last = place + 2 * len(name.tail)
                yield _Hit(place, last, name.canonical, name.mark == "?")
                break


def _stands_at(parts: list[str], written: list[str], word: int, name: _Name) -> bool:
    """Return whether a name begins at a word, in the way that its mark asks for."""
    words = len(name.tail)
    place = 2 * word + 1
    if words:
        if [one.lower() for one in written[word + 1 : word + 1 + words]] != name.tail:
            return False
        for step, joint in enumerate(name.joints):
            between = parts[place + 2 * step + 1]
            if between != "/" if joint == "/" else between not in _INNER:
                return False
    if not name.mark:
        return True
    if name.mark == "=":
        return parts[place][0].isupper()
    return parts[place : place + 2 * words + 1 : 2] == name.written


def _is_meant(parts: list[str], hit: _Hit) -> bool:
    """Return whether the words beside it tell that a word of every day is meant as a technology here."""
    if _is_part(parts, hit):
        return False
    if parts[hit.first - 1] == " " and hit.first > 1:
        word = parts[hit.first - 2].lower()
        if word in _BEFORE:
            return True
        if word in {"of", "with"} and hit.first > 3 and parts[hit.first - 4].lower() in _BEFORE_OF:
            return True
    return parts[hit.last + 1] == " " and hit.last + 2 < len(parts) and parts[hit.last + 2].lower() in _AFTER


def _is_company(parts: list[str], hit: _Hit) -> bool:
    """Return whether a name is that of a person's company: an office or a founder is behind it."""
    return parts[hit.last + 1] == " " and hit.last + 2 < len(parts) and parts[hit.last + 2].lower() in _OFFICES


def _mean_rows(parts: list[str], hits: list[_Hit], meant: list[bool]) -> None:
    """Mark names that are words of every day as meant where they are in a row, or two with a slash between."""
    begin = 0
    for end in range(1, len(hits) + 1):
        if end < len(hits) and _is_list(parts, hits[end - 1], hits[end]):
            continue
        row = hits[begin:end]
        if len({hit.canonical for hit in row}) >= _WEAK_MIN or _is_slashed(parts, row) or _is_example(parts, row):
            for place in range(begin, end):
                is_short = len(row) < _WEAK_MIN or len(parts[hits[place].first]) == 1
                meant[place] = meant[place] or not (is_short and _is_part(parts, hits[place]))
        begin = end


def _is_slashed(parts: list[str], row: list[_Hit]) -> bool:
    """Return whether two names have nothing but a slash between, and are not single letters (``Node/Express``)."""
    if len(row) != 2 or parts[row[0].last + 1 : row[1].first] != ["/"]:
        return False
    return all(len(parts[hit.first]) > 2 for hit in row)


def _is_example(parts: list[str], row: list[_Hit]) -> bool:
    """Return whether names are examples: ``database tools such as (Jama)``, ``technologies (e.g. Hive, Spark)``."""
    if any(len(parts[hit.first]) < 3 for hit in row):
        return False
    return _EXAMPLES.search("".join(parts[max(0, row[0].first - 16) : row[0].first])) is not None


def _is_part(parts: list[str], hit: _Hit) -> bool:
    """Return whether it is part of another word."""
    before, after = parts[hit.first - 1], parts[hit.last + 1]
    return (before != "" and before[-1] in _JOINED) or (after != "" and after[0] in _JOINED and after[1:2] != " ")


def _spread(parts: list[str], hits: list[_Hit], meant: list[bool]) -> None:
    """Mark names in a list beside one that is meant as meant as well: from the left, then from the right."""
    for places in (range(1, len(hits)), range(len(hits) - 2, -1, -1)):
        for place in places:
            beside = place - places.step
            one, other = hits[min(place, beside)], hits[max(place, beside)]
            if not meant[place] and meant[beside] and _is_list(parts, one, other):
                meant[place] = not _is_part(parts, hits[place])


def _is_list(parts: list[str], one: _Hit, other: _Hit) -> bool:
    """Return whether two names are side by side in a list, with at most a conjunction between them."""
    between = parts[one.last + 1 : other.first]
    if len(between) == 1:
        return between[0] != " " and _LIST.fullmatch(between[0]) is not None
    if len(between) == 5 and between[1:4] == ["and", "/", "or"]:
        between = [between[0], "or", between[4]]
    if len(between) != 3 or between[1].lower() not in _CONJUNCTIONS:
        return False
    return all(_LIST.fullmatch(gap) is not None for gap in (between[0], between[2]))


def _table(entries: Iterable[str]) -> tuple[dict[str, list[_Name]], dict[str, str]]:
    """Return names by their first word, longest first; and canonical names by spelling. The file tells its format."""
    names: dict[str, list[_Name]] = {}
    spellings: dict[str, str] = {}
    for entry in entries:
        canonical, _, others = entry.partition(":")
        written = [spelling for spelling in others.strip().split("|") if spelling]
        if canonical not in [spelling.lstrip("=^?").lower() for spelling in written]:
            written.append(canonical)
        spellings[canonical] = canonical
        for spelling in written:
            mark = spelling[0] if spelling[0] in "=^?" else ""
            plain = spelling.removeprefix(mark)
            spellings.setdefault(plain.lower(), canonical)
            name = _name(plain, mark, canonical)
            names.setdefault(_split(plain)[1].lower(), []).append(name)
    for candidates in names.values():
        candidates.sort(key=lambda name: (-len(name.tail), name.mark == "?"))
    return names, spellings


def _name(plain: str, mark: str, canonical: str) -> _Name:
    parts = _split(plain)
    words = parts[1::2]
    joints = tuple("/" if between == "/" else " " for between in parts[2:-1:2])
    return _Name([word.lower() for word in words[1:]], joints, canonical, mark, words)


_SECTIONS = word_list("technologies")
_MADE_BY = {
    maker: tuple(products.split("|")) for maker, _, products in (e.partition(": ") for e in _SECTIONS.pop("made by"))
}
FIELDS = frozenset(_SECTIONS.pop("fields of work"))
"""Canonical names of what is not a product: fields and ways of work, protocols, kinds of tools."""


class _Begun:
    """The names that one word begins."""

    def __init__(self, names: list[_Name]) -> None:
        self._alone = [name for name in names if not name.tail]
        self._by_second: dict[str, list[_Name]] = {}
        for name in names:
            if name.tail:
                self._by_second.setdefault(name.tail[0], []).append(name)
        for longer in self._by_second.values():
            longer.extend(self._alone)

    def at(self, second: str) -> list[_Name]:
        """Return the names that can begin there, longest first, by the word that follows in lower case."""
        return self._by_second.get(second, self._alone)


class _FirstWords(dict[str, _Begun | None]):
    """The names that a word begins, by the word as a text writes it: of a few texts most words have been seen."""

    def __missing__(self, word: str) -> _Begun | None:
        if len(self) >= _WORDS_REMEMBERED:
            self.clear()
        names = _NAMES.get(word.lower())
        found = self[word] = None if names is None else _Begun(names)
        return found


_WORDS_REMEMBERED = 50_000
_FIRST_WORDS = _FirstWords()
_NAMES, _SPELLINGS = _table(chain.from_iterable((*_SECTIONS.values(), *word_list("programs").values())))
