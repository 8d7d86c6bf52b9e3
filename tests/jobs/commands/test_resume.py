"""`init --resume`: a profile to be corrected, which `init --from` takes as it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.jobs.commands.conftest import Place, refusal
from tests.jobs.text.test_resume import AMERICAN


def test_the_profile_of_a_resume_is_shown_and_nothing_is_stored(place: Place, tmp_path: Path) -> None:
    (tmp_path / "cv.txt").write_text(AMERICAN, encoding="utf-8")
    before = place.files()
    result = place.run("init", "--resume", str(tmp_path / "cv.txt"))
    assert result.exit_code == 0, result.output
    assert place.files() == before
    assert "nothing is stored" in result.stderr
    assert "# from Senior Backend Engineer; Software Engineer" in result.stdout
    assert "ana@mail.example" not in result.stdout
    (tmp_path / "profile.yaml").write_text(result.stdout, encoding="utf-8")
    stored = place.told("init", "--from", str(tmp_path / "profile.yaml"))["stored"]
    assert stored["jobs.profile.seniority"] == ["senior"]
    assert stored["jobs.profile.technologies"]["python"] == "required"
    again = place.run("init", "--resume", str(tmp_path / "cv.txt"), "--json")
    assert json.loads(again.stdout)["profile"]["experience_years"] == 10


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"%PDF-1.7 ...", "is a PDF: save it as text (.txt) and give that"),
        (b"PK\x03\x04...", "is a document of a word processor: save it as text"),
        (b"{\\rtf1", "is a document in rich text"),
        (b"Ana\xff", "is not UTF-8 at byte 3"),
        (b"Dear reader,\nit is raining.\n", "no technology, title or period was found in it"),
        (b"", "no technology, title or period was found in it"),
    ],
)
def test_what_is_no_text_of_a_resume_is_one_line(place: Place, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "cv").write_bytes(content)
    assert said in refusal(place.run("init", "--resume", str(tmp_path / "cv")))


def test_a_resume_that_is_not_there_is_one_line(place: Place, tmp_path: Path) -> None:
    assert "cannot be read" in refusal(place.run("init", "--resume", str(tmp_path / "cv")))


def test_a_resume_and_a_sample_are_not_given_together(place: Place, tmp_path: Path) -> None:
    result = place.run("init", "--resume", str(tmp_path / "cv"), "--sample")
    assert result.exit_code == 2
    assert "give one of --from, --sample, --show-sample and --resume" in result.stderr
