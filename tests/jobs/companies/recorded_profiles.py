"""Recorded profiles of companies as web pages, and what the rules make of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from ramet.jobs.companies.extraction import read_company
from ramet.jobs.companies.facts import CompanyFacts, WebPage

_HEADING = re.compile(r"^(#+)\s*(.*?)\s*$")
_LINK = re.compile(r"\[([^\]]{0,300})\]\(([^)\s]{0,500})\)")

REMOTE_FIRST = {"fully-remote", "remote-first"}
SIZE_BOUNDS = {
    "tiny": (1, 20),
    "small": (10, 99),
    "medium": (50, 250),
    "large": (200, 1_500),
    "enterprise": (1_000, 5_000_000),
}
"""Employees that the people who sorted the profiles took for each class, as far as their own numbers tell."""
TAGS: dict[str, set[str]] = {
    "javascript": {"javascript", "typescript", "react", "angular", "vue", "node.js", "svelte", "next.js", "jquery"},
    "python": {"python", "django", "flask", "fastapi"},
    "ruby": {"ruby", "rails", "ruby on rails"},
    "java": {"java", "spring", "spring boot", "kotlin"},
    "go": {"go"},
    "php": {"php", "laravel", "symfony", "wordpress", "drupal"},
    "rust": {"rust"},
    "scala": {"scala"},
    "elixir": {"elixir", "phoenix"},
    "dotnet": {".net", "c#", "asp.net", "f#"},
}
"""The profiles' broad tags that are languages -> technologies that are that."""


@dataclass
class Report:
    """How often the rules agree with what the profiles were sorted as."""

    profiles: int = 0
    remote: Counter[tuple[str, bool]] = field(default_factory=Counter)
    size_told: int = 0
    size_found: int = 0
    size_agrees: int = 0
    tags: Counter[str] = field(default_factory=Counter)

    @property
    def remote_right(self) -> int:
        return sum(count for (policy, found), count in self.remote.items() if (policy in REMOTE_FIRST) == found)

    @property
    def remote_precision(self) -> float:
        found = sum(count for (_, found), count in self.remote.items() if found)
        return sum(count for (policy, hit), count in self.remote.items() if hit and policy in REMOTE_FIRST) / found


def profile_page(profile: dict[str, Any]) -> WebPage:
    """The profile as the page /about of its company."""
    body = []
    for line in profile["text"].split("\n"):
        text = _LINK.sub(r"\1", line).strip()
        if heading := _HEADING.match(text):
            level = len(heading[1])
            body.append(f"<h{level}>{escape(heading[2])}</h{level}>")
        elif text.startswith(("- ", "* ")):
            body.append(f"<ul><li>{escape(text[2:])}</li></ul>")
        elif text:
            body.append(f"<p>{escape(text)}</p>")
    title = escape(profile["expected"]["title"])
    html = f"<html><head><title>About | {title}</title></head><body><h1>{title}</h1>{''.join(body)}</body></html>"
    return WebPage(profile["expected"]["website"].rstrip("/") + "/about", html)


def read_profiles(path: Path) -> list[tuple[dict[str, Any], CompanyFacts]]:
    """Every profile of the file, and the facts of its page."""
    profiles = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(profile, read_company([profile_page(profile)], profile["expected"]["title"])) for profile in profiles]


def employees_of(size: str) -> int:
    """The number in a size as the facts tell it; the middle of a range."""
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", size)]
    return sum(numbers) // len(numbers)


def reported(read: Iterable[tuple[dict[str, Any], CompanyFacts]]) -> Report:
    """The counts over these profiles."""
    report = Report()
    for profile, facts in read:
        expected = profile["expected"]
        report.profiles += 1
        report.remote[expected["remote_policy"], facts.remote_first] += 1
        if bounds := SIZE_BOUNDS.get(expected["company_size"] or ""):
            report.size_told += 1
            if facts.size:
                report.size_found += 1
                report.size_agrees += bounds[0] <= employees_of(facts.size) <= bounds[1]
        if expected["technologies"]:
            _count_tags(report.tags, set(expected["technologies"]), set(facts.tech_stack))
    return report


def _count_tags(tags: Counter[str], expected: set[str], found: set[str]) -> None:
    for tag, technologies in TAGS.items():
        hit = bool(technologies & found)
        tags["both" if hit and tag in expected else "missed" if tag in expected else "more" if hit else "neither"] += 1
