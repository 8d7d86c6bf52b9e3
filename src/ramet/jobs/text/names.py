"""Whether a board's own name is the company's."""

from __future__ import annotations

import re

from ramet.jobs.text.company_names import same_company

_BETWEEN = re.compile(r"\s{1,5}[|\u2013\u2014\u00b7\u2022»:-]\s{1,5}")
_BOARD_WORDS = re.compile(
    r"(?:(?:\s|^)(?:careers?|jobs?|job board|open positions|openings|current openings|recruiting|recruitment|talent"
    r"|karriere|stellenangebote|hiring|external|site|page))+\s{0,3}$"
    r"|^(?:careers?|jobs?|openings|open positions|work|join|karriere)\s{1,3}(?:at|with|for|bei|chez|:)?\s{0,3}",
    re.IGNORECASE,
)
_NAME_MAX = 300


def company_fits(board_name: str | None, company: str | None) -> bool:
    """Whether a board may be the company's.

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
