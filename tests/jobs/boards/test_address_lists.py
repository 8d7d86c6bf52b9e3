"""Lists of addresses, as people have them; and the one that ships."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.boards.address_lists import (
    BadLine,
    NamedAddress,
    boards_of,
    known_boards,
    parse_addresses,
    read_addresses,
)
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.errors import InputError


@pytest.mark.parametrize(
    ("line", "url", "company"),
    [
        ("https://boards.greenhouse.io/acme", "https://boards.greenhouse.io/acme", None),
        ("acme.com", "https://acme.com", None),
        ("Acme Industries", None, "Acme Industries"),
        ("Acme, https://jobs.lever.co/acme", "https://jobs.lever.co/acme", "Acme"),
        ("https://jobs.lever.co/acme\tAcme", "https://jobs.lever.co/acme", "Acme"),
        ("- [Acme](https://jobs.lever.co/acme)", "https://jobs.lever.co/acme", "Acme"),
        ("* Acme: acme.com/careers", "https://acme.com/careers", "Acme"),
        ("Booking.com", "https://Booking.com", None),
        ("Acme Inc.", None, "Acme Inc."),
    ],
)
def test_a_line_is_an_address_a_name_or_both(line: str, url: str | None, company: str | None) -> None:
    assert parse_addresses(line).entries == [NamedAddress(1, url, company)]


@pytest.mark.parametrize("line", ["ftp://acme.example/jobs", "---", "12", "x" * 201])
def test_a_line_of_no_use_is_named_with_its_number(line: str) -> None:
    found = parse_addresses(f"# a list\n\n{line}\nacme.com\n")
    assert found.entries == [NamedAddress(4, "https://acme.com", None)]
    [bad] = found.bad
    assert isinstance(bad, BadLine)
    assert bad.line == 3


@pytest.mark.parametrize(
    "text",
    [
        "company,url\nAcme,https://jobs.lever.co/acme\n,\nInitech,\n,https://initech.example/jobs\n",
        "Company Name;Website\nAcme;https://jobs.lever.co/acme\nInitech;\n;https://initech.example/jobs",
        'name\tjob_board\tnote\n"Acme"\thttps://jobs.lever.co/acme\tx\nInitech\t\t\n\thttps://initech.example/jobs\t',
    ],
)
def test_a_table_is_read_by_its_header(text: str) -> None:
    found = parse_addresses(text)
    assert [(one.url, one.company) for one in found.entries] == [
        ("https://jobs.lever.co/acme", "Acme"), (None, "Initech"), ("https://initech.example/jobs", None),
    ]  # fmt: skip
    assert found.bad == []


def test_what_is_there_twice_is_there_once() -> None:
    assert len(parse_addresses("acme.com\nAcme: acme.com\nInitech\ninitech\n").entries) == 2


@given(st.text(max_size=300))
def test_every_line_is_taken_or_named(text: str) -> None:
    found = parse_addresses(text)
    assert len(found.entries) + len(found.bad) <= len(text.splitlines())


def test_a_file_that_cannot_be_taken_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"acme.com\n\xff")
    with pytest.raises(InputError, match="is not UTF-8 at byte 9"):
        read_addresses(tmp_path / "a")
    with pytest.raises(InputError, match="cannot be read"):
        read_addresses(tmp_path / "b")


def test_the_list_that_ships_has_boards_that_are_told_by_their_addresses() -> None:
    boards = known_boards()
    assert len(boards) >= 150
    assert len({one.url for one in boards}) == len({one.company for one in boards}) == len(boards)
    for one in boards:
        found = board_of_url(one.url)
        assert found is not None, one
        assert found.token is not None, one
    fields = {one.field for one in boards}
    assert min(len(boards_of([field])) for field in fields) >= 8
    assert len(boards_of(["all"])) == len(boards)
    with pytest.raises(InputError, match="'cooking' is not one of the fields: take ai, "):
        boards_of(["cooking"])
