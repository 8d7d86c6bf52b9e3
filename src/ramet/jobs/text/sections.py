"""Parts of a listing's text: about the company, duties, requirements, offers."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple


class Part(StrEnum):
    """Subject of a part of the text."""

    OTHER = "other"
    ABOUT = "about"
    DUTIES = "duties"
    REQUIRED = "required"
    PREFERRED = "preferred"
    OFFERED = "offered"


class Section(NamedTuple):
    """Lines under one heading, and the heading itself."""

    part: Part
    text: str


_HEADING_CHARACTERS_MAX = 90
_HEADING_WORDS_MAX = 9
_ABOUT_CHARACTERS_MAX = 3_000
"""Most characters of a part about the company; a longer one has headings that are not known."""

# In order: the first that is found in a heading tells its part.
_KINDS: tuple[tuple[Part, str], ...] = (
    (
        Part.PREFERRED,
        r"preferred|nice[- ]to[- ]haves?|bonus (?:points?|qualifications|skills|if)|(?:a|big|huge|major) plus\b"
        r"|pluses|desir(?:ed|able)"
        r"|good to have|extra credit|stand out|ideally|great to have|even better|bring an edge|diferenciais|deseable"
        r"|desej[aá]ve|von vorteil|w[uü]nschenswert|souhait|un plus|se valora|plus points",
    ),
    (
        Part.OFFERED,
        r"benefits?\b|perks|compensation|salary|pay (?:range|transparency|rate)|what (?:we|you'?ll|you will|you can)"
        r" (?:offer|get|expect from us|receive)|we offer|what'?s in it|why (?:you'?ll|join|work|us\b)|rewards"
        r"|equal (?:opportunit|employ)"
        r"|\beeo\b|our commitment|diversity|inclusion|accommodation|disclaimer|privacy|how to apply|(?:hiring"
        r"|interview|application|selection)"
        r" process|life at|is your place|legal|background check|compliance|wir bieten|das bieten|was wir"
        r"|dich erwartet bei"
        r"|oferecemos|ofrecemos|nous offrons|avantages|vorteile|beneficios|benef[ií]cios",
    ),
    (
        Part.REQUIRED,
        r"requirements?\b|required|qualifications?|qualified|what you(?:'?ll| will| should)? (?:need|bring|have|know)"
        r"|you (?:have|bring|need|offer)"
        r"|you'?(?:ll|ve) (?:have|need|got|bring)|who you are|who (?:we'?re|we are|are we|we) look(?:ing)?"
        r"|look(?:ing)? for|expect from you|we (?:expect|need|want)\b|you should have"
        r"|must[- ]haves?|minimum|skills|your (?:profile|background|experience|skills|qualifications)|about you\b"
        r"|ideal candidate"
        r"|successful candidate|sounds? like you|you might|good fit|great fit|right fit|what it takes|to succeed"
        r"|competenc|knowledge"
        r"|experience|expertise|education|technolog(?:y|ies) (?:we|you)|tech(?:nical)? stack|candidate profile"
        r"|what makes you"
        r"|requisit|anforderung|dein profil|ihr profil|das bringst|was du mitbringst|profil recherch|perfil"
        r"|conocimiento|vereisten",
    ),
    (
        Part.DUTIES,
        r"responsibilit|what you(?:'?ll| will)? (?:do|be|work|own|build)|you'?ll (?:do|be|work)|the role\b"
        r"|about (?:(?:the|this|your) )?(?:role|job|team"
        r"|position|opportunity|department)|your (?:role|impact|mission|opportunity|work|day)|job (?:description"
        r"|summary|overview|purpose)"
        r"|(?:role|position) (?:description|summary|overview|purpose)|day[- ]to[- ]day|overview|duties|tasks"
        r"|opportunity|the team\b|in this role"
        r"|you will|impact you|key areas|aufgaben|responsabilidad|missions?\b|funciones|atividades|miss[aã]o",
    ),
    (
        Part.ABOUT,
        r"(?:^|(?<=more )|(?<=all )|(?<=learn )|(?<=bit ))about\b"
        r"(?! (?:the |your )?(?:qualif|respons|requirem|skill|experience|tasks|duties))|who (?:we are|is)\b"
        r"|our (?:company|mission|story|values|culture|vision)|company|who are we"
        r"|what we do|headquarters|meet \w"
        r"|[uü]ber uns|wer wir|quem somos|qui sommes|qui[eé]nes somos|sobre",
    ),
)
_HEADING = re.compile("|".join(f"(?P<{part}>{pattern})" for part, pattern in _KINDS), re.IGNORECASE)
# A heading that a colon ends inside a line: texts whose line breaks were lost. Every branch begins with a capital
# letter of its own, which is how the pattern is fast.
_GLUED = re.compile(
    r"(?:Requirements|Qualifications|Responsibilities|Skills|Opportunity|Role|Ideally|Benefits|Duties|Who You Are"
    r"|What (?:You|We)(?:['\u2019](?:ll|re)|) ?(?:Need|Do|Bring|Have|Offer|Will Do|Be Doing|Looking For|Look For)"
    r"|About (?:You|Us)):"
)
_QUALIFIER = re.compile(r"(?:Minimum|Basic|Required|Preferred|Key|Job|Your|The|Additional|And) $")
_ENDS = frozenset(".!?;)]+#")
_CONTENT = re.compile(
    r"(?:strong |solid |deep |proven |prior |previous |hands-on |good |excellent |working |professional |relevant )*"
    r"(?:experienced?|knowledge|understanding|ability|able|familiarity|familiar|proficien\w+|expertise|skills"
    r"|bachelor\S*|degree|background)\b"
    r" (?!requirements|required|and (?:skills|qualifications|expertise|education)|& )\w",
    re.IGNORECASE,
)
"""How a line of a list begins that has a heading's word in it."""
_TRIGGERS = frozenset(
    "about accommodation accommodations anforderung anforderungen application atividades aufgaben avantages"
    " background basic beneficios benefit benefits benefícios bonus bring candidate company compensation"
    " competencies compliance conocimientos das day dein deseable desejável desirable desired dich diferenciais"
    " disclaimer diversity duties education eeo equal even experience expertise extra funciones good great"
    " headquarters hiring how ideal ideally ihr impact in inclusion interview is job key knowledge legal life look"
    " looking meet minimum mission missions missão must nice nous oferecemos ofrecemos opportunity our overview pay"
    " perfil perks plus pluses position preferred privacy profil qualification qualifications qualified quem qui"
    " quiénes required requirement requirements requisitos responsabilidad responsabilidades responsibilities"
    " responsibility rewards right role salary se selection skills sobre souhaité sound sounds stand successful"
    " tasks tech technical technologies technology the to un vereisten von vorteile was we wer what who why wir"
    " wünschenswert you your über".split()
)
"""Words of which every heading has one."""
_NOT_OF_EXPERIENCE = frozenset({Part.ABOUT, Part.OFFERED})
_ENDS_OF_DEMANDS = frozenset("experience knowledge skills".split())
"""A line of a list that lost its mark: ``Public company finance experience`` is a demand, not about the company."""
_ASIDE = re.compile(r"\s*\([^()]*\)\s*$")
"""Brackets at the end of a heading: ``What will help you (nice to have)``."""
_ENDED = re.compile(r"(?:das|diese|deine?|ihre?|was|wir|wer)\b[^.]{0,40}\.$", re.IGNORECASE)
"""A German heading with a full stop: ``Das bringst du mit.``"""
_SENTENCE_WORDS_MIN = 6
_ASKING = re.compile(
    r"(?:what|who|why|how|where|was|wer|wir|das|ce que|o que|lo que|qu|we|our|your|about|in this|let.?s|to be)\b",
    re.IGNORECASE,
)
"""Words that begin headings that are sentences: ``What you will bring to the team``."""
_TOKENS = re.compile(r"[^\W\d_]+")
_SENTENCES = re.compile(r"[a-z)][.!?][A-Z]")
"""Two sentences without a space between them: a part of a text that lost its line breaks."""
_DEMAND = re.compile(r"[\W_]*(?:minimum|at least|must |required? |\d{1,2} ?\+?[ -])", re.IGNORECASE)


def sections_of(text: str, company: str | None = None) -> list[Section]:
    """Return the text by its headings, in order, all of it. The lines before the first heading are ``other``.

    Args:
        text: plain, with its line breaks (:func:`~ramet.jobs.text.markup.text_of`).
        company: employer; the text after "About" and this name is about the company.
    """
    if company:
        text = text.replace(f"About {company}", f"\nAbout {company}\n")
    text = _unglued(text)
    sections: list[Section] = []
    part, lines = Part.OTHER, list[str]()
    written = text.split("\n")
    for place, line in enumerate(written):
        found = _heading(line)
        if found is Part.OTHER and part is Part.REQUIRED and _asks("".join(written[place + 1 : place + 3])):
            found = None
        if found is not None and lines:
            sections.append(_section(part, lines))
            lines = []
        part = found or part
        lines.append(line)
    if lines:
        sections.append(_section(part, lines))
    return [section for section in sections if section.text]


def _unglued(text: str) -> str:
    """Return the text with headings on lines of their own where a sentence or a word ends right before them."""
    lines: list[str] = []
    last = 0
    for heading in _GLUED.finditer(text):
        start = heading.start()
        qualifier = _QUALIFIER.search(text, max(last, start - 12), start)
        if qualifier is not None:
            start = qualifier.start()
        before = text[max(last, start - 2) : start]
        if before[-1:].islower() or before.rstrip(" ")[-1:] in _ENDS or qualifier is not None:
            lines.append(text[last:start])
            last = start
    lines.append(text[last:])
    return "\n".join(lines)


def joined(sections: list[Section], *parts: Part) -> str:
    """Return the text of these parts, in order."""
    return "\n".join(section.text for section in sections if section.part in parts)


def _is_a_sentence(head: str) -> bool:
    """Return whether a line is a sentence: more than a few words, of which few but the first have a capital letter."""
    written = [word for word in head.split() if word[0].isalpha()]
    if len(written) < _SENTENCE_WORDS_MIN or _ASKING.match(head):
        return False
    return 3 * sum(word[0].isupper() for word in written) < len(written)


def _asks(text: str) -> bool:
    """Return whether lines below a name begin with a demand: the name is that of a grade or a group of demands."""
    return _DEMAND.match(text) is not None


def _section(part: Part, lines: list[str]) -> Section:
    text = "\n".join(lines).strip()
    return Section(Part.OTHER if part is Part.ABOUT and len(text) > _ABOUT_CHARACTERS_MAX else part, text)


def _heading(line: str) -> Part | None:
    """Return the part that begins with this line; None where it is not a heading."""
    if line.startswith(("#", "**", "__")):
        line = line.strip("#*_ ")
    head, colon, rest = line[:_HEADING_CHARACTERS_MAX].partition(":")
    is_ended = line.rstrip()[-1:] in ".,;" and _ENDED.match(line) is None
    if not head or (not colon and (len(line) > _HEADING_CHARACTERS_MAX or is_ended)):
        return None
    # A line of a list is not a heading, unless nothing follows it.
    if line[0] in "-*•·●\u20130123456789" and (not colon or rest.strip() or line[0].isdigit()):
        return None
    if head.count(" ") >= _HEADING_WORDS_MAX and _ASIDE.sub("", head).count(" ") >= _HEADING_WORDS_MAX:
        return None
    words = _TOKENS.findall(head.lower())
    if not words or _SENTENCES.search(head) or (not colon and _is_a_sentence(head)):
        return None
    if not _TRIGGERS.isdisjoint(words) and not _CONTENT.match(head):
        part, start = _named_part(head)
        if part is not None and (not rest.strip() or start < 20):
            return None if part in _NOT_OF_EXPERIENCE and words[-1] in _ENDS_OF_DEMANDS and not colon else part
    name = _ASIDE.sub("", head).split()
    if rest.strip() or not 1 < len(words) <= 6 or not all(word[0].isupper() or len(word) <= 3 for word in name):
        return None
    return Part.OTHER


@lru_cache(maxsize=2_048)
def _named_part(head: str) -> tuple[Part | None, int]:
    """Return the part that a heading names, and where. Remembered: the postings of a board share their headings."""
    found = _HEADING.search(head.replace("\u2019", "'"))
    return (None, 0) if found is None or found.lastgroup is None else (Part(found.lastgroup), found.start())
