"""What the guide shows can be taken as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import read_list
from ramet.jobs.boards.vendor_rows import FILE_VARIABLE
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.config.config_file import read_config
from ramet.jobs.declared_settings import SETTINGS
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.settings import JobsSettings
from tests.jobs.boards.test_own_vendors import forget

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "guides" / "jobs.md").read_text(encoding="utf-8")
PROFILE, ROW = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)


def test_its_profile_is_taken(tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text(PROFILE, encoding="utf-8")
    settings = JobsSettings.of(read_config(tmp_path / "profile.yaml"))
    assert settings.profile.given
    assert settings.profile.preferred_region == "OR"
    assert settings.stop.keywords


def test_its_row_reads_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vendors.yaml").write_text(ROW, encoding="utf-8")
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "vendors.yaml"))
    forget()
    found = board_of_url("https://jobs.newboard.example/acme/7")
    monkeypatch.undo()
    assert found is not None
    assert found.url == "https://jobs.newboard.example/acme"
    instruction = instruction_for(found)
    forget()
    job = {
        "name": "Engineer",
        "place": {"city": "Oslo", "country": "NO"},
        "text": "<p>x</p>",
        "published": "2026-01-02",
    }
    answer: dict[str, Any] = {"data": {"company": "Acme", "jobs": [{**job, "id": number} for number in range(100)]}}
    request = first_request(instruction)
    page = read_list(instruction, json.dumps(answer).encode(), request=request, page=1, now=1.8e9)
    assert len(page.postings) == 100
    first = page.postings[0]
    assert (first.url, first.location) == ("https://jobs.newboard.example/acme/0", "Oslo, NO")
    assert page.next is not None
    assert page.next.url.endswith("?offset=100")


def test_the_defaults_it_tells_are_the_settings() -> None:
    table = GUIDE.partition("## Settings that matter")[2].partition("\n## ")[0]
    declared = {setting.name: setting.default for setting in SETTINGS}
    words = {"none": None, "yes": True}
    told: dict[str, Any] = {}
    for names, values in re.findall(r"^\| (`jobs\..*?) \| (.*?) \|", table, flags=re.MULTILINE):
        shared = values.replace(",000", "000").split(", ")
        for at, name in enumerate(re.findall(r"`([^`]+)`", names)):
            value = shared[min(at, len(shared) - 1)]
            told[name] = words.get(value, float(value) if value.isdigit() else value)
    assert len(told) > 10
    assert told == {name: declared[name] for name in told}


def test_every_setting_that_a_page_names_exists() -> None:
    names = {setting.name for setting in SETTINGS}
    sections = "|".join(JobsSettings.model_fields)
    told = {
        name
        for page in DOCS.rglob("*.md")
        for name in re.findall(rf"\bjobs\.(?:{sections})\.[a-z_]+", page.read_text(encoding="utf-8"))
    }
    assert len(told) > 20
    assert sorted(told - names) == []
