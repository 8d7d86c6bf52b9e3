"""Matches as files that other programs read, whatever stands in them."""

from __future__ import annotations

import csv
import io
import json
import time

from tests.jobs.commands.conftest import Place, refusal

HOSTILE = "=cmd|' /C calc'!A0"


def test_csv_has_a_line_for_each_match_and_no_formula(place: Place) -> None:
    place.add_match("https://a.example/1", 91, title=HOSTILE, salary_min=100_000, salary_currency="USD", posted_at=0.0)
    place.add_match("https://a.example/2", 85, company='Two\nlines, and "quotes"')
    result = place.run("export", "csv")
    assert result.exit_code == 0, result.output
    rows = {row["url"]: row for row in csv.DictReader(io.StringIO(result.stdout, newline=""))}
    first, second = rows["https://a.example/1"], rows["https://a.example/2"]
    assert first["title"] == f"'{HOSTILE}"
    assert (first["salary_min"], first["salary_max"], first["posted_at"]) == ("100000", "", "1970-01-01")
    assert first["matched_skills"] == "python; react"
    assert second["company"] == 'Two\nlines, and "quotes"'


def test_json_has_everything_and_is_replaced_when_it_is_whole(place: Place) -> None:
    place.add_match("https://a.example/1", 91, title="Größe 😀", posted_at=time.time())
    (place.folder / "out.json").write_text("before")
    result = place.run("export", "json", "-o", "out.json")
    assert result.exit_code == 0, result.output
    assert "wrote 1 match to out.json" in result.stderr
    [match] = json.loads((place.folder / "out.json").read_text())
    assert match["title"] == "Größe 😀"
    assert match["adjustments"] == [{"category": "skills", "reason": "4 of 5 wanted", "points": 30}]
    assert not any(name.endswith(".part") for name in place.files())


def test_markdown_keeps_text_text_and_links_only_to_the_web(place: Place) -> None:
    place.add_match("https://a.example/1", 91, title="[click](javascript:x) <b>", company="A | B")
    place.add_match("x", 85, url="javascript:alert(1)")
    told = place.run("export", "markdown").stdout
    assert "## 91 · \\[click\\]\\(javascript:x\\) \\<b\\>" in told
    assert "A \\| B" in told
    assert "<https://a.example/1>" in told
    assert "<javascript" not in told


def test_where_nothing_can_be_written_is_one_line(place: Place) -> None:
    place.add_match("https://a.example/1", 91)
    assert "cannot write none/out.csv" in refusal(place.run("export", "csv", "-o", "none/out.csv"))
    assert refusal(place.run("export", "xml"))


def test_no_match_is_an_empty_file_of_its_kind(place: Place) -> None:
    place.add_listing("https://a.example/1")
    assert place.run("export", "csv").stdout.startswith("score,priority,status,note,title")
    assert json.loads(place.run("export", "json").stdout) == []
    assert place.run("export", "markdown").stdout == "# 0 matches\n"
