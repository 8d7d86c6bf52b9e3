"""Texts that are refused before they are stored, each with a word for what is wrong."""

from __future__ import annotations

import pytest

from ramet.model.texts import NAME_BYTES_MAX, InvalidText, check_name


def test_a_name_is_any_text_that_fits() -> None:
    for name in ("a", "ü" * (NAME_BYTES_MAX // 2), "x" * NAME_BYTES_MAX):
        assert check_name("kind", name) == name


@pytest.mark.parametrize(
    ("name", "said"),
    [("", "kind is empty: give a name"), ("x" * (NAME_BYTES_MAX + 1), f"give at most {NAME_BYTES_MAX}")],
    ids=["empty", "long"],
)
def test_a_name_that_is_empty_or_too_long_is_refused(name: str, said: str) -> None:
    with pytest.raises(InvalidText, match=said):
        check_name("kind", name)
