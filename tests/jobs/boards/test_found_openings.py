"""Openings in files that other programs write; the rows are made up, their columns are those of JobSpy 1.4."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ramet.jobs.boards.found_openings import read_openings
from ramet.jobs.errors import InputError
from tests.jobs.boards.sample_boards import NOW

HEADER = (
    "id,site,job_url,job_url_direct,title,company,location,date_posted,job_type,interval,min_amount,max_amount,"
    "currency,is_remote,description,company_url_direct\n"
)
ROW = (
    'li-1,linkedin,https://www.linkedin.com/jobs/view/1,https://acme.example/jobs/1,Night Cook,Acme,"Lyon, France",'
    '2026-11-01,fulltime,yearly,60000,80000,EUR,True,"**Cook** at night.\n\nWith fire.",https://acme.example\n'
)


def test_a_row_of_jobspy_is_an_opening(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(HEADER + ROW)
    found = read_openings(tmp_path / "jobs.csv", NOW)
    [posting] = found.postings
    assert (posting.url, posting.title, posting.company) == ("https://acme.example/jobs/1", "Night Cook", "Acme")
    assert (posting.location, posting.workplace, posting.employment_type) == ("Lyon, France", "remote", "fulltime")
    assert posting.pay is not None
    assert (posting.pay.minimum, posting.pay.currency, posting.pay.period) == (60000, "EUR", "year")
    assert posting.description == "**Cook** at night.\n\nWith fire."
    assert posting.company_website == "https://acme.example"
    assert posting.posted_at is not None
    assert found.bad == []


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_json_and_lines_of_json_are_read_too(tmp_path: Path, suffix: str) -> None:
    rows = [{"title": "Cook", "job_url": "https://a.example/1", "is_remote": None}, {"title": "", "job_url": "x"}]
    text = json.dumps(rows) if suffix == "json" else "\n".join(json.dumps(row) for row in rows) + "\n{"
    (tmp_path / f"jobs.{suffix}").write_text(text)
    found = read_openings(tmp_path / f"jobs.{suffix}", NOW)
    assert [one.url for one in found.postings] == ["https://a.example/1"]
    assert [one.line for one in found.bad] == ([2] if suffix == "json" else [2, 3])


@pytest.mark.parametrize("url", ["", "nan", "/jobs/1", "ftp://a.example/1", "javascript:alert(1)"])
def test_a_row_without_an_address_is_named(tmp_path: Path, url: str) -> None:
    (tmp_path / "a.csv").write_text(f"title,url\nCook,{url}\nChef,https://a.example/2\nChef,https://a.example/2\n")
    found = read_openings(tmp_path / "a.csv", NOW)
    assert [one.title for one in found.postings] == ["Chef"]
    assert [one.line for one in found.bad] == [2]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1,2\n", "does not name the columns title and job_url"),
        (b"", "does not name the columns"),
        (b"[1, ", "is not valid JSON"),
        (b"title,url\n\xff", "is not UTF-8"),
    ],
)
def test_another_file_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        read_openings(tmp_path / "a", NOW)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        read_openings(tmp_path / "b", NOW)
