"""Instructions and answers that several tests of boards are about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import Page, read_list
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.detection.findings import Confidence, DetectedBoard

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()

BOARDS: Mapping[str, tuple[str, str | None, dict[str, str]]] = {
    "greenhouse": ("https://boards.greenhouse.io/acme", "acme", {}),
    "lever": ("https://jobs.lever.co/acme", "acme", {}),
    "lever_eu": ("https://jobs.eu.lever.co/acme", "acme", {"region": "eu"}),
    "ashby": ("https://jobs.ashbyhq.com/acme", "acme", {}),
    "smartrecruiters": ("https://careers.smartrecruiters.com/Acme", "Acme", {}),
    "workable": ("https://apply.workable.com/acme", "acme", {}),
    "workable_v3": ("https://apply.workable.com/acme", "acme", {}),
    "recruitee": ("https://acme.recruitee.com/", "acme", {}),
    "personio": ("https://acme.jobs.personio.de/", "acme", {}),
    "workday": (
        "https://acme.wd5.myworkdayjobs.com/en-US/External",
        "acme",
        {"host": "acme.wd5.myworkdayjobs.com", "tenant": "acme", "site": "External", "instance": "wd5"},
    ),
    "workday_shared": (
        "https://wd5.myworkdaysite.com/recruiting/acme/External",
        "acme",
        {"host": "wd5.myworkdaysite.com", "tenant": "acme", "site": "External", "instance": "wd5"},
    ),
    "teamtailor": ("https://acme.teamtailor.com/jobs", "acme", {}),
    "breezy": ("https://acme.breezy.hr/", "acme", {}),
    "bamboohr": ("https://acme.bamboohr.com/careers", "acme", {}),
    "rippling": ("https://ats.rippling.com/acme/jobs", "acme", {}),
    "rippling_v1": ("https://ats.rippling.com/acme/jobs", "acme", {}),
    "pinpoint": ("https://acme.pinpointhq.com", "acme", {}),
    "oracle_hcm": (
        "https://ehle.fa.em2.oraclecloud.com/hcmUI/CandidateExperience/en/sites/CX_1/jobs",
        "CX_1",
        {"host": "ehle.fa.em2.oraclecloud.com", "site": "CX_1"},
    ),
    "gem": ("https://jobs.gem.com/acme", "acme", {}),
    "join": ("https://join.com/companies/acme", "acme", {}),
    "jobvite": ("https://jobs.jobvite.com/feedingamerica/jobs", "feedingamerica", {}),
    "icims": ("https://careers-acme.icims.com/jobs/intro", "careers-acme", {"host": "careers-acme.icims.com"}),
    "eightfold": ("https://acme.eightfold.ai/careers", "acme", {"domain": "acme.com"}),
    "eightfold_search": ("https://acme.eightfold.ai/careers", "acme", {"domain": "acme.com"}),
    "successfactors": (
        "https://career4.successfactors.com/career?company=ACME",
        "ACME",
        {"host": "career4.successfactors.com"},
    ),
    "taleo": (
        "https://phe.tbe.taleo.net/phe01/ats/careers/v2/searchResults?org=ACME&cws=37",
        "ACME",
        {"host": "phe.tbe.taleo.net", "instance": "phe01", "cws": "37"},
    ),
    "jibe": ("https://careers.acme.example/jobs", None, {"host": "careers.acme.example"}),
    "jazzhr": ("https://acme.applytojob.com/apply/jobs", "acme", {"host": "acme.applytojob.com"}),
    "paylocity": (
        "https://recruiting.paylocity.com/Recruiting/Jobs/All/8759d8d9",
        "8759d8d9",
        {"host": "recruiting.paylocity.com"},
    ),
    "ukg": (
        "https://recruiting.ultipro.com/ACM1000ACME/JobBoard/132b6065",
        "ACM1000ACME",
        {"host": "recruiting.ultipro.com", "tenant": "ACM1000ACME", "site": "132b6065"},
    ),
    "adp": ("https://workforcenow.adp.com/mascsr/default/mdf/recruitment/recruitment.html", "0b10", {"ccid": "19_1"}),
    "dayforce": ("https://us58.dayforcehcm.com/CandidatePortal/en-US/acme", "acme", {"host": "us58.dayforcehcm.com"}),
    "phenom": (
        "https://careers.acme.example/us/en/search-results",
        None,
        {"host": "careers.acme.example", "country": "us", "lang": "en"},
    ),
    "avature": (
        "https://acme.avature.net/careers/SearchJobs",
        "acme",
        {"host": "acme.avature.net", "tenant": "acme", "site": "careers"},
    ),
    "comeet": ("https://www.comeet.com/jobs/acme/12.345", "acme", {"uid": "12.345"}),
    "softgarden": ("https://acme.softgarden.io/", "acme", {"host": "acme.softgarden.io"}),
    "remoteok": ("https://remoteok.com/", None, {}),
    "remotive": ("https://remotive.com/remote-jobs", None, {}),
    "himalayas": ("https://himalayas.app/jobs", None, {}),
    "arbeitnow": ("https://www.arbeitnow.com/", None, {}),
    "hackernews": ("https://news.ycombinator.com/item?id=1", "1", {}),
    "amazon": ("https://www.amazon.jobs/en/search", None, {}),
    "rss": ("https://careers.acme.example/feed.rss", None, {}),
    "teamtailor_rss": ("https://careers.acme.example/jobs.rss", None, {}),
    "weworkremotely": ("https://weworkremotely.com/remote-jobs.rss", None, {}),
    "xml": ("https://careers.acme.example/feed.xml", None, {}),
    "jsonld": ("https://acme.example/jobs", None, {}),
}
"""By the vendor's row: an address, a token and whatever else names one board."""

OTHERWISE = {row.otherwise for row in vendors().values()}
"""Rows that are tried where another one fails."""


def found(vendor: str) -> DetectedBoard:
    url, token, ids = BOARDS[vendor]
    return DetectedBoard(vendors()[vendor].kind, url, token, ids, Confidence.HIGH, "url")


def board(vendor: str, **changes: Any) -> Instruction:
    """The instruction for one board of a vendor."""
    row = vendors()[vendor] if vendor in OTHERWISE else None
    return instruction_for(found(vendor), vendor=row).model_copy(update=changes)


def read(instruction: Instruction, answer: bytes | str | Any, *, page: int = 1, **more: Any) -> Page:
    """The first page of a board that answers this; what is neither bytes nor text is sent as JSON."""
    body = answer if isinstance(answer, bytes) else answer.encode() if isinstance(answer, str) else None
    if body is None:
        body = json.dumps(answer).encode()
    request = more.pop("request", None) or first_request(instruction)
    return read_list(instruction, body, request=request, page=page, now=NOW, **more)
