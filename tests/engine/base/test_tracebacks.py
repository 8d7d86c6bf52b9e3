"""A traceback is told as Python would print it, bounded, without secrets, and whatever the raised object does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.engine.base.error_text import BYTES_MAX, bounded, folder_of, redacted, stack_of, traceback_of
from ramet.model.values import is_storable

HERE = Path(__file__)


def parse(order: dict[str, str]) -> int:
    return int(order["amount"])


def total(orders: list[dict[str, str]]) -> int:
    return sum(parse(order) for order in orders)


def raised_by(call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except BaseException as error:  # whatever it is
        return error
    raise AssertionError("nothing was raised")


def told(call: Callable[[], Any], handler: Callable[..., Any] | None = total) -> str:
    text = traceback_of(raised_by(call), handler)
    assert text is not None
    return text


def refuses(*_: object) -> NoReturn:
    raise RuntimeError("not to be asked")


def test_it_names_every_call_with_its_source_and_ends_with_the_error() -> None:
    lines = told(lambda: total([{}])).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert f'  File "tests/engine/base/test_tracebacks.py", line {parse.__code__.co_firstlineno + 1}, in parse' in lines
    assert '    return int(order["amount"])' in lines
    assert lines[-1] == "KeyError: 'amount'"


def test_causes_and_contexts_come_first_and_say_how_they_belong_together() -> None:
    def caused() -> None:
        try:
            total([{}])
        except KeyError as error:
            raise ValueError("no total") from error

    def during() -> None:
        try:
            total([{}])
        except KeyError:
            refuses()

    def hidden() -> None:
        try:
            total([{}])
        except KeyError:
            raise ValueError("no total") from None

    assert "KeyError: 'amount'\n\nThe above exception was the direct cause of" in told(caused)
    assert "KeyError: 'amount'\n\nDuring handling of the above exception" in told(during)
    assert "KeyError" not in told(hidden)


def test_members_of_a_group_and_notes_are_told() -> None:
    def several() -> None:
        errors: list[Exception] = [raised_by(lambda: total([{}])), ValueError("two")]  # type: ignore[list-item]
        group = ExceptionGroup("many", errors)
        group.add_note("at midnight")
        raise group

    lines = told(several).splitlines()
    assert "  | KeyError: 'amount'" in lines
    assert "  | ValueError: two" in lines
    assert "at midnight" in lines


def test_where_nothing_was_raised_there_is_no_traceback() -> None:
    assert traceback_of(ValueError("never raised")) is None


def test_paths_below_the_apps_folder_are_relative_and_others_whole() -> None:
    text = told(lambda: pytest.fail("x"))
    assert f'File "{HERE}"' not in text
    assert 'File "tests/engine/base/test_tracebacks.py"' in text
    outcomes = str(sys.modules["_pytest.outcomes"].__file__)  # Below it too, where the environment is.
    assert f'File "{outcomes.removeprefix(folder_of(None) + "/")}"' in text
    assert folder_of(None) == str(Path.cwd())


def chain_of(length: int) -> BaseException:
    error: BaseException = raised_by(lambda: total([{}]))
    for number in range(length):
        following = ValueError(number)
        following.__cause__ = error
        error = following
    return error


def circle() -> BaseException:
    one, two = raised_by(lambda: total([{}])), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def deep() -> BaseException:
    def fall(depth: int) -> None:
        fall(depth + 1)

    return raised_by(lambda: fall(0))


def nested(levels: int) -> BaseException:
    error = raised_by(lambda: total([{}]))
    for _ in range(levels):
        error = BaseExceptionGroup("group", [error] * 30)
    error.__traceback__ = raised_by(lambda: total([{}])).__traceback__
    return error


def odd(**attributes: Any) -> BaseException:
    def raises() -> NoReturn:
        raise type("Odd", (Exception,), attributes)("x")

    return raised_by(raises)


ATTRIBUTES = ("__cause__", "__context__", "__traceback__", "__notes__", "__dict__")
ODD: dict[str, Callable[[], BaseException]] = {
    "chain": lambda: chain_of(10_000),
    "circle": circle,
    "deep": deep,
    "groups": lambda: nested(5),
    "plain": odd,
    "no text": lambda: odd(__str__=refuses),
    "no attributes": lambda: odd(__getattribute__=refuses),
    "no chain": lambda: odd(**{name: property(refuses) for name in ATTRIBUTES}),
    "no suppression": lambda: odd(__suppress_context__=property(refuses)),
    "no class": lambda: odd(__class__=property(refuses)),
    "no comparison": lambda: odd(__eq__=refuses, __hash__=None, __bool__=refuses),
    "unstorable": lambda: odd(__str__=lambda _: "\0\ud800" * 10_000),
}


@pytest.mark.parametrize("name", ODD)
def test_whatever_was_raised_its_traceback_can_be_stored(name: str) -> None:
    error = ODD[name]()
    text = traceback_of(error)
    assert name == "chain" or text is not None  # of ten thousand that were never raised the first is too far away
    assert text is None or is_storable(text)
    assert len((text or "").encode()) <= BYTES_MAX
    assert text is None or "test_tracebacks.py" in text


@given(st.text(max_size=500), st.integers(200, 600))
def test_what_is_too_long_keeps_its_beginning_and_its_end(text: str, bytes_max: int) -> None:
    text = text.encode("utf-8", "replace").decode() * 3
    short = bounded(text, bytes_max)
    assert len(short.encode()) <= bytes_max
    assert short == text or ("left out" in short and short[0] == text[0] and short[-1] == text[-1])


def test_known_secrets_and_passwords_are_left_out() -> None:
    environment = {
        "OPENAI_API_KEY": "sk-canary-0123456789", "PATH": "/usr/bin/anything", "MY_TOKEN": "short",
        "RAMET_ALERT_WEBHOOK_URL": "https://hooks.example/T0/secretpart", "AUTHOR": "Ada Lovelace",
    }  # fmt: skip
    text = "sk-canary-0123456789x at postgresql://ada:pa:ss@db/x, short, /usr/bin/anything, Ada Lovelace, http://a:1/@b"
    assert redacted(text, environment) == (
        "***x at postgresql://ada:***@db/x, short, /usr/bin/anything, Ada Lovelace, http://a:1/@b"
    )
    assert redacted("see https://hooks.example/T0/secretpart", environment) == "see ***"


def test_a_traceback_has_no_secret_that_a_message_or_a_line_of_source_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "canary-" + "0" * 30
    monkeypatch.setenv("SERVICE_TOKEN", canary)

    def leaks() -> None:
        try:
            raise KeyError("x" * 1_990 + canary)
        except KeyError as error:
            raise ValueError("canary-000000000000000000000000000000") from error

    assert "canary-0" not in told(leaks).replace('ValueError("', "")


def test_the_stack_of_a_running_thread_is_told_from_the_handler_on() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait_for_ever() -> None:
        inside.set()
        go_on.wait()

    thread = threading.Thread(target=wait_for_ever)
    thread.start()
    inside.wait()
    text = stack_of(thread.ident, total)
    go_on.set()
    thread.join()
    assert text is not None
    assert text.startswith('Stack (most recent call last):\n  File "tests/engine/base/test_tracebacks.py"')
    assert "in wait_for_ever" in text
    assert stack_of(None) is None
