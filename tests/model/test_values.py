"""Texts that both databases can hold: what is refused and in which words, what is mended, and where each bound is."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_UP, Decimal, localcontext
from hashlib import sha256
from typing import Any

import pytest

from ramet import App, Context, Limits, dollars
from ramet.model.money import AMOUNT_MAX, NANO_DOLLARS, amount_of
from ramet.model.schedule import Timing
from ramet.model.values import (
    COUNT_MAX,
    INTEGER_DIGITS_MAX,
    INTEGER_MAX,
    NAME_BYTES_MAX,
    PRIORITY_MAX,
    RESERVED_DELAY_SECONDS_MAX,
    SECONDS_MAX,
    TAG_CHARACTERS_MAX,
    TAGS_MAX,
    InvalidNumber,
    InvalidText,
    Json,
    NewBlob,
    blob_of,
    check_name,
    check_text,
    checked_tags,
    finite,
    integer,
    is_storable,
    on_one_line,
    priority,
    read_json,
    seconds,
    seconds_from_now,
    shown,
    storable,
    value_of,
    whole,
)

HALF = "\ud83d"
"""Half of a surrogate pair."""


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("", ""),
        ("plain", "plain"),
        ("two\nlines\t\x01", "two\nlines\t\x01"),
        ("grin 😀", "grin 😀"),
        ("\0", "?"),
        (f"a\0b{HALF}c\udfff\n", "a?b?c?\n"),
        ("\ud800\udbff\udc00", "???"),
        ("\ud7ff\ue000", "\ud7ff\ue000"),
    ],
)
def test_what_no_database_holds_is_found_and_becomes_a_question_mark(text: str, stored: str) -> None:
    assert storable(text) == stored
    assert is_storable(text) is (text == stored)


def test_a_text_that_is_cut_is_judged_by_what_is_left_of_it() -> None:
    assert storable("abcdef", 3) == "abc"
    assert storable("abc\0", 3) == "abc"
    assert storable("a\0cd", 3) == "a?c"
    assert storable("abc", 3) == "abc"


@pytest.mark.parametrize(
    ("text", "line"),
    [("plain é", "plain é"), ("a\nb\r\tc", "a\\nb\\r\\tc"), ("é\x00", "é\\x00"), ("\u2028x", "\\u2028x"), ("", "")],
)
def test_what_is_not_to_be_seen_is_written_as_an_escape_and_the_rest_stays(text: str, line: str) -> None:
    assert on_one_line(text) == line


REFUSED: list[tuple[Any, dict[str, int], str]] = [
    (5, {}, "reason is a int: give text"),
    (None, {}, "reason is a NoneType: give text"),
    ("a\0", {}, "reason 'a\\x00' holds a NUL or half a character (a lone surrogate): leave that out"),
    (HALF, {}, "reason '\\ud83d' holds a NUL or half a character (a lone surrogate): leave that out"),
    ("abcd", {"characters_max": 3}, "reason has 4 characters: give at most 3"),
    ("ééé", {"bytes_max": 5}, "reason '\\xe9\\xe9\\xe9' has 6 bytes: give at most 5"),
    ("x" * 60, {"bytes_max": 59}, f"reason '{'x' * 60}' has 60 bytes: give at most 59"),
    ("x" * 61, {"bytes_max": 60}, f"reason '{'x' * 57}...' has 61 bytes: give at most 60"),
    ("😀", {"bytes_max": 3}, "reason '\\U0001f600' has 4 bytes: give at most 3"),
]


@pytest.mark.parametrize(("text", "bounds", "message"), REFUSED)
def test_a_text_that_cannot_be_stored_is_refused_in_one_line_that_says_what_to_do(
    text: Any, bounds: dict[str, int], message: str
) -> None:
    with pytest.raises(InvalidText) as caught:
        check_text("reason", text, **bounds)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("", {"characters_max": 0, "bytes_max": 0}),
        ("two\nlines", {}),
        ("x" * 5_000, {}),
        ("éàü", {"characters_max": 3}),
        ("éàü", {"bytes_max": 6}),
        ("😀", {"bytes_max": 4}),
        ("abcd", {"bytes_max": 4}),
        ("abcd", {"bytes_max": 15}),
    ],
)
def test_a_text_within_its_bounds_is_taken_as_it_is(text: str, bounds: dict[str, int]) -> None:
    assert check_text("reason", text, **bounds) == text


def test_a_name_has_something_in_it_and_fits_an_index_entry() -> None:
    longest = "é" * 127 + "x"
    assert len(longest.encode()) == NAME_BYTES_MAX == 255
    assert check_name("kind", longest) == longest
    for name, message in {
        "": "kind is empty: give a name",
        longest + "x": f"kind {'é' * 57 + '...'!a} has 256 bytes: give at most 255",
        "a\0": "kind 'a\\x00' holds a NUL or half a character (a lone surrogate): leave that out",
    }.items():
        with pytest.raises(InvalidText) as caught:
            check_name("kind", name)
        assert str(caught.value) == message


ODD = [math.inf, -math.inf, math.nan, 1e300, -1.0, "5", None, True, 10**400]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_seconds_are_finite_and_at_most_a_century(value: Any) -> None:
    with pytest.raises(InvalidNumber, match=r"^delay_seconds is .*: give a number of seconds from 0 to 3,155,760,000$"):
        seconds("delay_seconds", value)


@pytest.mark.parametrize("value", [0, 0.0, 1.5, SECONDS_MAX])
def test_other_seconds_are_what_they_are(value: float) -> None:
    assert seconds("delay_seconds", value) == value


@pytest.mark.parametrize(
    "name", ["lineage_seconds", "task_seconds", "call_seconds", "schedule_seconds", "invocation_seconds"]
)
@pytest.mark.parametrize("value", [math.inf, math.nan, 1e300, -1.0])
def test_limits_of_time_are_finite_and_bounded(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"\b{name} .*: give a number of seconds from "):
        Limits(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["max_tasks", "max_spawn_depth", "max_fan_out", "max_shape", "max_cost"])
@pytest.mark.parametrize("value", [math.inf, 10**30, 2.5, "many", -1])
def test_limits_of_size_are_whole_and_bounded(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"\b{name} .*: give "):
        Limits(**{name: value})


@pytest.fixture
def app() -> App:
    app = App()

    @app.task("work")
    async def work(ctx: Context, number: int) -> None:
        """Nothing here runs."""

    return app


@pytest.mark.parametrize(
    "options",
    [
        {"delay_seconds": math.inf},
        {"delay_seconds": math.nan},
        {"delay_seconds": 1e300},
        {"delay_seconds": -1.0},
        {"task_seconds": math.inf},
        {"task_seconds": 0},
        {"priority": PRIORITY_MAX + 1},
        {"priority": -1_000_000_000_000},
        {"priority": 1.5},
        {"delay_seconds": RESERVED_DELAY_SECONDS_MAX + 1, "path": ["doc"], "reserve_path": True},
    ],
    ids=repr,
)
def test_a_task_whose_numbers_are_odd_is_not_made(app: App, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidNumber):
        app.registry.get("work").new_task(1, **options)


def test_a_task_may_wait_long_and_hold_its_place_for_a_month(app: App) -> None:
    new = app.registry.get("work").new_task(1, delay_seconds=366 * 86_400.0, priority=-PRIORITY_MAX)
    assert (new.delay_seconds, new.priority) == (366 * 86_400.0, -PRIORITY_MAX)
    app.registry.get("work").new_task(1, delay_seconds=RESERVED_DELAY_SECONDS_MAX, path=["doc"], reserve_path=True)


def test_a_kind_has_a_priority_in_range(app: App) -> None:
    with pytest.raises(InvalidNumber, match="priority"):
        app.task("odd", priority=10**9)(lambda ctx: None)


@pytest.mark.parametrize("value", [math.inf, math.nan, 1e300, 0.0])
def test_a_schedules_interval_is_bounded(value: float) -> None:
    with pytest.raises(ValueError, match="every_seconds"):
        Timing(every_seconds=value)


@pytest.mark.parametrize(
    ("given", "nano"),
    [
        (5, 5), (Decimal("0.05"), 50_000_000), ("$0.05", 50_000_000), ("0.05 USD", 50_000_000),
        ("1,000 dollars", 10**12),
        ("5 cents", 50_000_000), ("7 nano-dollars", 7), ("$ 2", 2_000_000_000), (dollars(0.05), 50_000_000),
        (dollars("0.1"), 100_000_000), (dollars(Decimal("1e-9")), 1), (dollars(3), 3_000_000_000),
    ],
    ids=repr,
)  # fmt: skip
def test_money_is_decimal_text_with_a_unit_or_whole_nano_dollars(given: Any, nano: int) -> None:
    assert amount_of(given, "it is") == nano
    assert Limits(max_cost=given).max_cost == nano


@pytest.mark.parametrize(
    "given",
    [0.05, "0.05", "5 €", "five dollars", "$", "-$1", -1, Decimal("NaN"), Decimal("1e-10"), Decimal("1e99"), True,
     AMOUNT_MAX + 1, "$" + "9" * 5_000],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_other_money_is_refused_with_what_to_give(given: Any) -> None:
    with pytest.raises(ValueError, match="give"):
        amount_of(given, "it is")
    with pytest.raises(ValueError, match="max_cost"):
        Limits(max_cost=given)


@pytest.mark.parametrize(
    ("amount", "nano"),
    [
        (0, 0), (1, NANO_DOLLARS), (0.05, 50_000_000), (0.1, 100_000_000), ("0.05", 50_000_000),
        (5e-10, 0), (1.5e-9, 2), (2.5e-9, 2), (0.1000000005, 100_000_000),
        (Decimal("0.0000000005"), 0), (Decimal("0.0000000015"), 2), (10**9, AMOUNT_MAX), ("1e-9", 1),
    ],
    ids=repr,
)  # fmt: skip
def test_dollars_are_whole_nano_dollars_rounded_half_to_even(amount: Any, nano: int) -> None:
    assert dollars(amount) == nano
    with localcontext(rounding=ROUND_UP):
        assert dollars(amount) == nano, "whatever a program's own sums are rounded to"


@pytest.mark.parametrize(
    "wrong",
    [True, -1, -0.01, 10**9 + 1, math.nan, math.inf, "nan", "Infinity", "many", "", None, [], 10**400],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_amount_of_dollars_is_refused_in_one_line(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"is not an amount of dollars: give a number from 0 to 1,000,000,000$"):
        dollars(wrong)


@pytest.mark.parametrize(
    ("value", "raw", "form"),
    [
        (b"\xff\0", b"\xff\0", "bytes"),
        ("gr\xfcn", b"gr\xc3\xbcn", "text"),
        ({"a": ["gr\xfcn", 1.5, None]}, b'{"a":["gr\xc3\xbcn",1.5,null]}', "json"),
        (None, b"null", "json"),
        (7, b"7", "json"),
    ],
)
def test_a_value_is_named_after_its_content_and_comes_back(value: bytes | str | Json, raw: bytes, form: str) -> None:
    assert blob_of(value) == (NewBlob(sha256(raw).hexdigest(), raw), form)
    assert value_of(raw, form) == value


@pytest.mark.parametrize("value", [bytearray(b"ab"), memoryview(b"ab")])
def test_whatever_holds_bytes_is_kept_as_bytes(value: bytearray | memoryview) -> None:
    blob, form = blob_of(value)
    assert (blob.content, form) == (b"ab", "bytes")
    assert type(blob.content) is bytes


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_has_no_word_for_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        blob_of(value)


def test_tags_are_kept_once_each_in_order() -> None:
    assert checked_tags(["b", "a", "b"]) == ("a", "b")
    assert checked_tags([]) == ()
    assert checked_tags(["x" * TAG_CHARACTERS_MAX]) == ("x" * TAG_CHARACTERS_MAX,)
    assert len(checked_tags([str(number) for number in range(TAGS_MAX)])) == TAGS_MAX


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ("news", "^tags is 'news': give a list of texts$"),
        (["a", ""], "^a tag is empty: give at least one character, or leave it out$"),
        (
            [str(number) for number in range(TAGS_MAX + 1)],
            f"^{TAGS_MAX + 1} tags are over {TAGS_MAX}: leave some of them out$",
        ),
        (["x" * (TAG_CHARACTERS_MAX + 1)], "^a tag "),
        ([7], "^a tag "),
    ],
)
def test_tags_that_cannot_be_are_refused(tags: Any, words: str) -> None:
    with pytest.raises(InvalidText, match=words):
        checked_tags(tags)


def test_any_whole_number_of_both_databases_is_taken_and_none_beyond() -> None:
    for least_or_most in (-INTEGER_MAX - 1, INTEGER_MAX):
        assert integer("n", least_or_most) == least_or_most
    for beyond in (-INTEGER_MAX - 2, INTEGER_MAX + 1):
        with pytest.raises(InvalidNumber, match=r"^n is "):
            integer("n", beyond)


MANY = "1,000,000,000,000,000,000"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: whole("size", 5, most=4), "size is 5: give a whole number from 0 to 4"),
        (lambda: whole("size", -1), f"size is -1: give a whole number from 0 to {MANY}"),
        (lambda: whole("size", True), f"size is True: give a whole number from 0 to {MANY}"),
        (lambda: whole("size", 10**18 + 1), f"size is 1000000000000000001: give a whole number from 0 to {MANY}"),
        (
            lambda: whole("size", 10**5_000),
            f"size is a number of about 5000 digits: give a whole number from 0 to {MANY}",
        ),
        (lambda: priority("rank", 10**6), "rank is 1000000: give a whole number from -999,999 to 999,999"),
        (lambda: priority("rank", -(10**6)), "rank is -1000000: give a whole number from -999,999 to 999,999"),
        (
            lambda: seconds_from_now("then", "x" * 99),
            f"then is '{'x' * 59}: give a number of seconds from -3.15576e+09 to 3,155,760,000",
        ),
        (lambda: finite("share", math.nan), "share is nan: give a number"),
        (lambda: finite("share", 10**400), "share is a number of about 400 digits: give a number"),
        (lambda: finite("share", True), "share is True: give a number"),
        (lambda: finite("share", "1"), "share is '1': give a number"),
    ],
)
def test_an_odd_number_is_refused_in_one_exact_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidNumber) as caught:
        call()
    assert str(caught.value) == message


def test_numbers_at_their_bounds_are_taken_as_plain_numbers() -> None:
    for given, number in [
        (whole("n", COUNT_MAX), COUNT_MAX), (whole("n", 0), 0), (priority("n", -PRIORITY_MAX), -PRIORITY_MAX),
        (finite("n", -1.5), -1.5), (finite("n", 7), 7.0), (seconds_from_now("n", -5), -5.0),
        (seconds("n", 2, least=2.0, most=2.0), 2.0), (shown(INTEGER_MAX), str(INTEGER_MAX)),
        (shown(-INTEGER_MAX - 1), "a number of about 19 digits"),
    ]:  # fmt: skip
        assert given == number
        assert type(given) is type(number)


def test_a_whole_number_of_too_many_digits_becomes_text_and_those_beside_it_stay_numbers() -> None:
    long = "9" * 5_000
    assert read_json(f'{{"long": {long}, "short": 12, "wide": {"1" * 30}}}') == {
        "long": long, "short": 12, "wide": int("1" * 30),
    }  # fmt: skip
    most = "9" * INTEGER_DIGITS_MAX
    assert read_json(f"[{most}, {most}9]") == [int(most), f"{most}9"]
