"""Instructions and answers that several tests of boards are about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import Page, read_list
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
    "amazon": ("https://www.amazon.jobs/en/search", None, {}),
    "rss": ("https://careers.acme.example/feed.rss", None, {}),
    "teamtailor_rss": ("https://careers.acme.example/jobs.rss", None, {}),
    "weworkremotely": ("https://weworkremotely.com/remote-jobs.rss", None, {}),
    "xml": ("https://careers.acme.example/feed.xml", None, {}),
    "jsonld": ("https://acme.example/jobs", None, {}),
}
"""By the vendor's row: an address, a token and whatever else names one board."""

KINDS = {"lever_eu": "lever", "workday_shared": "workday", "weworkremotely": "rss", "teamtailor_rss": "rss"}
"""What detection calls these rows."""


def found(vendor: str) -> DetectedBoard:
    url, token, ids = BOARDS[vendor]
    return DetectedBoard(KINDS.get(vendor, vendor), url, token, ids, Confidence.HIGH, "url")


def board(vendor: str, **changes: Any) -> Instruction:
    """The instruction for one board of a vendor."""
    return instruction_for(found(vendor)).model_copy(update=changes)


def read(instruction: Instruction, answer: bytes | str | Any, *, page: int = 1, **more: Any) -> Page:
    """The first page of a board that answers this; what is neither bytes nor text is sent as JSON."""
    body = answer if isinstance(answer, bytes) else answer.encode() if isinstance(answer, str) else None
    if body is None:
        body = json.dumps(answer).encode()
    request = more.pop("request", None) or first_request(instruction)
    return read_list(instruction, body, request=request, page=page, now=NOW, **more)
