"""What kind of contract a posting offers."""

from __future__ import annotations

import re

from ramet.jobs.posting import Posting
from ramet.jobs.text.windows import around

_KINDS: tuple[tuple[str, str], ...] = (
    ("internship", r"intern(?:ship)?\b|praktik|werkstudent|working student|est[aá]gi|stagiaire|alternance|becari"),
    ("part-time", r"part[ _-]?time|teilzeit|temps partiel|medio tiempo|deeltijd"),
    ("contract", r"contract(?:or|ing)?\b(?! (?:management|negotiation|lifecycle|review|manager|admin))|freelanc"
     r"|\b1099\b|\bc2c\b|corp[- ]to[- ]corp|\bw2 only\b|\bb2b contract"),
    ("temporary", r"temporary|fixed[- ]term|befristet|seasonal|\bcdd\b"),
    ("full-time", r"full[ _-]?time|vollzeit|festanstellung|permanent|temps plein|tiempo completo|regular employee"
     r"|\bcdi\b|employee\b|unbefristet"),
)  # fmt: skip
_FIELD = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS]
_SAID = re.compile(
    r"\b(?:employment|job|position|contract|work|requisition)[ -]?(?:type|status"
    r"|classification)?\s?:\s{0,3}(?P<label>(?:full|part)[ -]?time|contract(?:or)?|temporary"
    r"|freelance|internship|permanent|regular)\b|\b(?P<sentence>full[ -]?time|part[ -]?time|temporary|freelance"
    r"|contract|contract-to-hire|permanent) (?:role|position|job"
    r"|opportunity|employee|employees|employment|basis|contract|engagement|opening|team member)\b"
    r"|\b(?P<length>\d{1,2}\+?[ -]?months? contract)\b"
    r"|\b(?P<word>full-time|vollzeit|festanstellung|1099|c2c)\b",
)
_WORDS = (
    "full-time", "full time", "fulltime", "part-time", "part time", "parttime", "temporary", "freelance", "contract",
    "permanent", "internship", "regular", "vollzeit", "festanstellung", "1099", "c2c",
)  # fmt: skip
_COMMISSION = re.compile(
    r"\b(?:commission[- ](?:only|based only)|100 ?% commission|(?:purely|strictly|straight|solely"
    r"|entirely) (?:on )?commission|commission[- ]only"
    r"|1099 commission|no base (?:salary|pay)|uncapped commission only)\b",
)
_DENIES = re.compile(r"\b(?:not|isn't|no|never|non)[\s-](?:an? |this is )*$")


def employment_of(posting: Posting, text: str) -> str | None:
    """``full-time``, ``part-time``, ``contract``, ``temporary`` or ``internship``; None: not told.

    The board's field counts before the title, the title before the text.

    Args:
        text: the description, plain, in lower case.
    """
    for written in (posting.employment_type or "", posting.title[:300]):
        for kind, pattern in _FIELD:
            if pattern.search(written):
                return kind
    said = _SAID.search(around(text, _WORDS, 40, 40))
    if said is None:
        return None
    written = next(group for group in said.groups() if group)
    return next((kind for kind, pattern in _FIELD if pattern.search(written)), "full-time")


def is_commission_only(text: str) -> bool:
    """Whether nothing but commission is paid.

    Args:
        text: plain, in lower case.
    """
    told = around(text, ("commission", "no base"), 60, 40)
    for match in _COMMISSION.finditer(told):
        if not _DENIES.search(told, max(0, match.start() - 30), match.start()):
            return True
    return False
