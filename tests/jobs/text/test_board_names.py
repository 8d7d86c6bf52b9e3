"""Whether a board's own name is the company's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.text.company_names import company_fits


@pytest.mark.parametrize(
    ("board", "company"),
    [
        ("Acme", "Acme"),
        ("Acme Inc.", "ACME"),
        ("Acme Careers", "Acme"),
        ("Jobs at Acme", "Acme GmbH"),
        ("Acme | Open Positions", "Acme"),
        ("Careers - Acme Labs", "Acme Labs, Inc."),
        (None, "Acme"),
        ("", "Acme"),
        ("Acme", None),
    ],
)
def test_it_is(board: str | None, company: str | None) -> None:
    assert company_fits(board, company)


@pytest.mark.parametrize(
    ("board", "company"),
    [("Metabase", "Meta"), ("Meta", "Metabase"), ("Acme Careers", "Other"), ("Careers", "Acme"), ("Acme Bank", "Acme")],
)
def test_it_is_another(board: str, company: str) -> None:
    assert not company_fits(board, company)


@given(st.text(max_size=100), st.text(max_size=100))
def test_no_name_raises(board: str, company: str) -> None:
    assert company_fits(board, company) in (True, False)
