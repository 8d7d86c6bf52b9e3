"""Rows of the user's own file: taken before the package's, or refused on one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ramet.jobs.boards import vendor_rows
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.vendor_rows import FILE_VARIABLE, misfits, own_file, vendors
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.companies.identity import website_of
from ramet.jobs.detection import patterns
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.errors import InputError

NEWBOARD = """
newboard:
  type: json
  confidence: high
  board: "https://newboard.example/{token}"
  addresses: ["newboard.example/{token}", "{token}.newboard.example"]
  needs: [token]
  url: "https://api.newboard.example/v1/{token}/jobs"
  response_path: jobs
  fields: {title: name, url: link}
"""


def forget() -> None:
    vendor_rows.own_vendor_domains.cache_clear()
    for kept in (vendors, vendor_rows._by_kind, patterns.patterns, patterns.parameters, patterns.evidence):
        kept.cache_clear()
    patterns.vendor_names.cache_clear()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's file, which is not there yet."""
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "mine.yaml"))
    forget()
    yield tmp_path / "mine.yaml"
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize(
    "url", ["https://newboard.example/acme", "https://newboard.example/acme/jobs/7", "https://acme.newboard.example/"]
)
def test_a_vendor_of_ones_own_is_found_by_its_addresses_and_read(file: Path, url: str) -> None:
    file.write_text(NEWBOARD)
    found = board_of_url(url)
    assert found is not None
    assert (found.kind, found.token, found.url) == ("newboard", "acme", "https://newboard.example/acme")
    assert found.confidence == "high"
    assert first_request(instruction_for(found)).url == "https://api.newboard.example/v1/acme/jobs"
    assert vendors()["newboard"].source == "own"


def test_a_board_at_a_vendor_of_ones_own_is_no_companys_website(file: Path) -> None:
    file.write_text(NEWBOARD)
    with pytest.raises(InputError, match="is a job board"):
        website_of("https://acme.newboard.example/")


def test_a_row_of_the_same_name_takes_the_place_of_the_packages(file: Path) -> None:
    file.write_text(
        NEWBOARD.replace("newboard:", "lever:").replace("newboard.example/{token}", "jobs.lever.co/{token}")
    )
    found = board_of_url("https://jobs.lever.co/acme")
    assert found is not None
    assert first_request(instruction_for(found)).url == "https://api.newboard.example/v1/acme/jobs"


def test_the_file_is_in_the_users_folder_unless_the_environment_names_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert own_file() == tmp_path / "ramet" / "vendors.yaml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert own_file() == Path.home() / ".config" / "ramet" / "vendors.yaml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("newboard: 5\n", "line 1: newboard is 5: give its fields below it"),
        ("New Board: {type: json}\n", "is not a valid name of a vendor"),
        (NEWBOARD.replace("type: json", "type: soap"), "line 3: newboard.type is"),
        (NEWBOARD.replace("confidence:", "confidense:"), "line 4: newboard.confidense is not a field of a vendor: "),
        (NEWBOARD.replace("title: name", 'title: "a..b"'), "line 10: newboard.fields.title"),
        (
            NEWBOARD.replace('"{token}.newboard.example"', "{domain: a.example, path: '('}"),
            "line 6: newboard.addresses",
        ),
        (NEWBOARD.replace("{title: name, url: link}", "{title: name}"), "newboard: give where the url is (fields)"),
        (NEWBOARD.replace("/v1/{token}/", "/v1/{tokne}/"), "its url names {tokne}"),
        (NEWBOARD.replace("  addresses:", "  parameters: []\n  # "), "newboard: nothing leads to it: give addresses"),
        (NEWBOARD.replace("https://api", "ftp://api"), "newboard: give a url that begins with http"),
        (NEWBOARD.replace("high", "high\n  otherwise: nowhere"), "newboard: otherwise names nowhere, which is not"),
        ("newboard: [\n", "is not valid YAML"),
        ("", "is empty"),
    ],
    ids=range(13),
)
def test_a_mistake_is_one_line_that_names_its_place(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        vendors()
    message = str(caught.value)
    assert said in message
    assert message.startswith(str(file))
    assert "\n" not in message


def test_a_named_file_that_is_not_there_is_said(file: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        vendors()


def test_something_leads_to_every_row_of_the_package() -> None:
    general = {"xml", "jsonld", "generic"}
    rows = {name: row for name, row in vendors().items() if name not in general}
    otherwise = {row.otherwise for row in rows.values()}
    wrong = {name: misfits(row) for name, row in rows.items() if name not in otherwise}
    assert {name: lines for name, lines in wrong.items() if lines} == {}
    assert otherwise - {None} <= vendors().keys()
    assert {row.source for row in vendors().values()} == {"recorded", "documented", "described"}
