"""Any object that Python can raise has a name and a text."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from ramet.engine.base.error_text import RAISED_CHARACTERS_MAX, ErrorText, describe_error


def having(**attributes: Any) -> BaseException:
    error: BaseException = type("Odd", (Exception,), attributes)("x")
    return error


def refuses(*_: object) -> NoReturn:
    raise AttributeError("not here")


class OddText(str):
    __len__ = __getitem__ = __format__ = __str__ = refuses


class OddClass(type):
    __name__: Any = property(refuses)


class NoName(BaseException, metaclass=OddClass):
    pass


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("x"), ("ValueError", "x")),
        (KeyboardInterrupt(), ("KeyboardInterrupt", "")),
        (having(__str__=refuses), ("Odd", "it has no text: its __str__ raised AttributeError")),
        (having(__str__=lambda _: None), ("Odd", "it has no text: its __str__ raised TypeError")),
        (having(__str__=lambda _: OddText("odd")), ("Odd", "odd")),
        (having(__getattribute__=refuses), ("Odd", "x")),
        (NoName("x"), ("NoName", "x")),
        (ValueError("x" * 10**6), ("ValueError", "x" * RAISED_CHARACTERS_MAX)),
    ],
    ids=["plain", "no-exception", "raises", "no-text", "odd-text", "no-attributes", "odd-class", "long"],
)
def test_any_raised_object_has_a_name_and_a_text(error: BaseException, expected: ErrorText) -> None:
    told = describe_error(error)
    assert told == expected
    assert [type(text) for text in told] == [str, str]


def test_a_text_that_ends_the_program_is_no_text() -> None:
    def interrupt(_: object) -> NoReturn:
        raise KeyboardInterrupt

    assert describe_error(having(__str__=interrupt)).text == "it has no text: its __str__ raised KeyboardInterrupt"


def test_written_out_it_reads_as_python_writes_it() -> None:
    assert str(describe_error(ValueError("x"))) == "ValueError: x"
    assert str(describe_error(ValueError())) == "ValueError"
