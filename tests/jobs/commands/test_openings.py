"""`add-openings`: what another program found is judged as the openings of boards are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.commands.conftest import Place, refusal
from tests.jobs.world.world import World

pytestmark = pytest.mark.network

TEXT = "We write Python and TypeScript, with PostgreSQL, Docker and AWS. " * 8
FILE = (
    "title,job_url,company,location,is_remote,description\n"
    f'Senior Software Engineer,https://www.linkedin.com/jobs/view/1,Acme,"Portland, OR",True,{TEXT}\n'
    f"Sales Manager,https://www.linkedin.com/jobs/view/2,Acme,,False,{TEXT}\n"
    "Cook,,,,,\n"
)


def test_openings_of_a_file_are_judged_without_asking_their_site(place: Place, world: World, tmp_path: Path) -> None:
    assert place.run("init", "--sample").exit_code == 0
    (tmp_path / "jobs.csv").write_text(FILE)
    result = place.run("add-openings", str(tmp_path / "jobs.csv"))
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == ["line 4: an opening needs a title and an address of http or https"]
    assert result.stdout.startswith("2 openings, 0 of them known already: ")
    assert not world.asked("https://www.linkedin.com/")
    assert place.told("why", "https://www.linkedin.com/jobs/view/2")["listing"]["status"] == "filtered"
    again = place.told("add-openings", str(tmp_path / "jobs.csv"), "--no-work")
    assert (again["openings"], again["known"]) == (2, 2)


def test_a_file_without_openings_is_refused(place: Place, tmp_path: Path) -> None:
    assert place.run("init", "--sample").exit_code == 0
    (tmp_path / "jobs.csv").write_text("title,url\n")
    result = place.run("add-openings", str(tmp_path / "jobs.csv"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no opening in it" in result.stderr
    assert "cannot be read" in refusal(place.run("add-openings", str(tmp_path / "none.csv")))
