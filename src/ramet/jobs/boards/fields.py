"""From one entry of a board's list, whatever it was written in, to a posting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from ramet.jobs.boards.dates import parse_posted
from ramet.jobs.boards.instruction import (
    PLACES_BY,
    Instruction,
    Part,
    Rule,
    Rules,
    text_at,
    text_of_value,
    texts_at,
    values_at,
)
from ramet.jobs.boards.salary_text import pay_of, salary_text
from ramet.jobs.posting import Pay, PlaceFields, Posting, clean, without_login
from ramet.jobs.text.markup import decoded, text_of
from ramet.jobs.text.places import without_arrangement

LINE_MAX = 500
"""Characters of a title, a name or another field of one line."""
PLACES_MAX = 50
"""Places of one opening."""
DESCRIPTION_MAX = 200_000
"""Characters of a text, without its markup."""
URL_MAX = 2_000

_PLACEHOLDER = re.compile(r"\{([^{}]{1,100})\}")
_URL_SAFE = "/:@!$&'()*+,;=-._~%?#"
_WORKPLACES = {
    "remote": "remote", "fully remote": "remote", "fully": "remote", "remote only": "remote", "100 remote": "remote",
    "telecommute": "remote", "telework": "remote", "virtual": "remote", "remote first": "remote", "hybrid": "hybrid",
    "hybrid remote": "hybrid", "flexible": "hybrid", "partially remote": "hybrid", "partly remote": "hybrid",
    "onsite": "onsite", "on site": "onsite", "in office": "onsite", "office": "onsite", "in person": "onsite",
}  # fmt: skip
_STANDARD = frozenset(
    "title url external_id company location description posted_at salary workplace employment_type detail_url"
    " country".split()
)
_COMPANY_AND_TITLE = re.compile(r"\s{0,4}([^:]{1,100}):\s{1,4}(\S.*)", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """One entry of a list, with the instruction of its board."""

    row: Any
    instruction: Instruction
    page_url: str

    def text(self, rules: Iterable[Rule]) -> str:
        """Return the text of the first rule that finds one; empty: none does."""
        for rule in rules:
            found = _mapped(rule, self._found(rule))
            if found:
                return found
        return ""

    def _found(self, rule: Rule) -> str:
        if rule.path is not None:
            return text_at(self.row, rule.path)
        if rule.all or rule.join:
            found = [text for path in rule.all for text in texts_at(self.row, path)]
            if rule.join:
                rows = values_at(self.row, rule.each) if rule.each else [self.row]
                found += [rule.by.join(filter(None, (text_at(row, path) for path in rule.join))) for row in rows]
            return PLACES_BY.join(_distinct(found))
        if rule.template is not None:
            return self.filled(rule.template)
        if rule.place is not None:
            return PLACES_BY.join(_distinct(map(place_text, self.place_fields(rule))))
        if rule.amounts is not None:
            return salary_text(self.pay([rule])) or ""
        return self._parts(rule.parts)

    def filled(self, template: str) -> str:
        """Return a template with the board's and the entry's values in it; empty where one of them is not known."""
        found = []
        for at, piece in enumerate(_pieces(template)):
            if at % 2 == 0:
                found.append(piece)
                continue
            text = self.instruction.token or "" if piece == "token" else self.instruction.ids.get(piece, "")
            text = text or text_at(self.row, piece)
            if not text:
                return ""
            found.append(quote(text[:LINE_MAX], safe=_URL_SAFE))
        return "".join(found)

    def pay(self, rules: Iterable[Rule]) -> Pay | None:
        """Return the amounts of the first rule that finds something; None where that is a text."""
        for rule in rules:
            if rule.amounts is None:
                if self._found(rule):
                    return None
                continue
            amounts = rule.amounts
            currency = text_at(self.row, amounts.currency) if amounts.currency else ""
            period = text_at(self.row, amounts.period) if amounts.period else ""
            bounds = text_at(self.row, amounts.minimum), text_at(self.row, amounts.maximum)
            if pay := pay_of(*bounds, currency, period, amounts.divide):
                return pay
        return None

    def place_fields(self, rule: Rule) -> list[PlaceFields]:
        """Return the places that a rule of parts finds, each once."""
        paths = rule.place
        if paths is None:
            return []
        found: dict[PlaceFields, None] = {}
        for one in values_at(self.row, rule.each) if rule.each else [self.row]:
            parts = {
                name: next((line(text) for path in getattr(paths, name) if (text := text_at(one, path))), None)
                for name in ("city", "region", "country")
            }
            if any(parts.values()):
                found[PlaceFields(**parts)] = None
        return list(found)[:PLACES_MAX]

    def location(self, rules: Iterable[Rule]) -> dict[str, Any]:
        """Return the places of the first rule that names one, as text and in parts, and the workplace beside them.

        A text that only says how work is done ("In-Office") is not a place: it is the workplace, and the next rule
        is asked. "Remote" is both, as nothing else may be.
        """
        how, word = "", None
        for rule in rules:
            text = _mapped(rule, self._found(rule))
            if not text:
                continue
            told = workplace_of(text)
            if told in ("onsite", "hybrid") and not without_arrangement(text):
                how, word = how or text, word or told
                continue
            return {"location": places(text), "places": tuple(self.place_fields(rule)), "workplace": word}
        return {"location": places(how), "places": (), "workplace": word} if how else {}

    def _parts(self, parts: Iterable[Part]) -> str:
        return "\n\n".join(_distinct(text for part in parts for text in _part_texts(self.row, part)))

    def description(self, rules: Iterable[Rule]) -> str:
        """Return the first rule's text without its markup."""
        for rule in rules:
            found = self._found(rule)
            text = found if rule.parts else plain(found, rule.markup)
            if text:
                return clean(text)[:DESCRIPTION_MAX]
        return ""

    def workplace(self, rules: Iterable[Rule]) -> str | None:
        """Return the first word from the rules that names a workplace."""
        return next((word for rule in rules if (word := workplace_of(_mapped(rule, self._found(rule))))), None)

    def address(self, rules: Iterable[Rule]) -> str | None:
        """Return the first valid address from the rules, made absolute."""
        base = self.instruction.base_url or self.page_url
        return next((url for rule in rules if (url := absolute(_mapped(rule, self._found(rule)), base))), None)


def posting_of(entry: Entry, fields: Mapping[str, Rules], now: float, company: str | None) -> Posting | None:
    """Return the posting that an entry describes; None where it has no title or no address.

    Args:
        fields: rules by field; for a name that is not a field of a posting they give a text for people.
        now: Unix seconds.
        company: owner of the board, for entries that do not say.
    """
    title = line(entry.text(fields.get("title", ())))
    told = line(entry.text(fields.get("company", ())))
    if entry.instruction.company_from == "title" and (match := _COMPANY_AND_TITLE.fullmatch(title)):
        told, title = told or match[1].strip(), match[2].strip()
    url = entry.address(fields.get("url", ()))
    if not title or url is None:
        return None
    found = values_of(entry, fields, now)
    found |= {"title": title, "url": url, "company": told or company}
    detail = entry.instruction.detail
    if detail is not None and len(found.get("description", "")) < detail.shorter:
        if teaser := found.pop("description", ""):
            found["extra"] = {"teaser": teaser, **found.get("extra", {})}
        found["detail_url"] = entry.address(detail.url)
    return Posting(**found)


def values_of(entry: Entry, fields: Mapping[str, Rules], now: float) -> dict[str, Any]:
    """Return the values that an entry has beside its title, address and company, by the posting's field."""
    found: dict[str, Any] = {
        "external_id": line(entry.text(fields.get("external_id", ()))),
        "description": entry.description(fields.get("description", ())),
        "posted_at": parse_posted(entry.text(fields.get("posted_at", ())), now),
        "salary": line(entry.text(fields.get("salary", ()))),
        "pay": entry.pay(fields.get("salary", ())),
        "country": line(entry.text(fields.get("country", ()))),
        "employment_type": line(entry.text(fields.get("employment_type", ()))),
        "extra": _extra(entry, fields),
    }
    found = {name: value for name, value in found.items() if value or value == 0}
    if "salary" in found:
        # A later answer replaces all of an earlier one, not one half of it.
        found.setdefault("pay", None)
    where = entry.location(fields.get("location", ()))
    workplace = entry.workplace(fields.get("workplace", ())) or where.pop("workplace", None)
    if where.get("location"):
        found |= where
    return found | ({"workplace": workplace} if workplace else {})


def place_text(place: PlaceFields) -> str:
    """Return the parts of a place on one line, for people."""
    return ", ".join(part for part in (place.city, place.region, place.country) if part)


def _extra(entry: Entry, fields: Mapping[str, Rules]) -> dict[str, Any]:
    found = {name: line(entry.text(rules)) for name, rules in fields.items() if _is_extra(name)}
    return {name: text for name, text in found.items() if text}


def _is_extra(name: str) -> bool:
    return name not in _STANDARD and not name.startswith("_")


def places(text: str) -> str | None:
    """Return a location on one line, each place once; None: there is none."""
    found = _distinct(line(place) for place in text.split(PLACES_BY))
    return PLACES_BY.join(found[:PLACES_MAX]) or None


def line(text: str) -> str:
    """Return a text on one line, with its character references decoded and nothing in it that cannot be stored."""
    if "&" in text and ";" in text:
        text = decoded(text[: LINE_MAX * 4])
    return " ".join(clean(text[: LINE_MAX * 4]).split())[:LINE_MAX].rstrip()


def workplace_of(word: str) -> str | None:
    """Return ``remote``, ``hybrid`` or ``onsite`` for a board's word; None for any other word."""
    folded = " ".join(re.split(r"[^a-z0-9]+", word[:LINE_MAX].lower())).strip()
    return _WORKPLACES.get(folded)


def absolute(address: str, base: str) -> str | None:
    """Return an address of the web that a person can open; None where it is not a valid one."""
    address = clean(address.strip())
    if not address or len(address) > URL_MAX:
        return None
    if address in ("http://", "https://") or not address.strip("/?#."):
        return None
    try:
        parts = urlsplit(urljoin(base, address))
        # Asking for the port refuses one that is none.
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            return None
    except ValueError:
        return None
    return quote(without_login(parts.geturl()), safe=_URL_SAFE + "[]|")


def plain(text: str, markup: str) -> str:
    """Return a text without its markup."""
    if markup == "text" or not text:
        return text.strip()
    return text_of(decoded(text) if markup == "escaped" else text)


@lru_cache(maxsize=1024)
def _pieces(template: str) -> list[str]:
    """Return the texts of a template, and between them the names of its placeholders."""
    return _PLACEHOLDER.split(template)


def _part_texts(row: Any, part: Part) -> Iterator[str]:
    for one in values_at(row, part.each) if part.each else [row]:
        text = plain(text_at(one, part.text), part.markup)
        title = (line(text_at(one, part.title)) if part.title and text else "") or part.heading
        if text:
            yield f"{title}\n{text}" if title else text


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


def _mapped(rule: Rule, found: str) -> str:
    if found and rule.match is not None:
        match = re.search(rule.match, found[: LINE_MAX * 4])
        found = match[1].strip() if match and match[1] else ""
    return rule.map.get(found.lower(), "") if found and rule.map else found


def text_of_flag(value: Any) -> str:
    """Return a value as a row of ``skip`` names it."""
    return text_of_value(value).strip().lower()
