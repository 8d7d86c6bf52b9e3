"""Which errors are tried again, when, and which are the same error (DESIGN §6)."""

import hashlib
import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.lineage.limits import BACKOFF_SECONDS_MAX
from ramet.model.task.retry import (
    ERRORS,
    ErrorClass,
    Permanent,
    Retry,
    RetryAfter,
    Transient,
    backoff_seconds,
    classify,
    fingerprint,
    waits_from_text,
    waits_text,
)

TRANSIENT, PERMANENT, UNCLASSIFIED = ErrorClass.TRANSIENT, ErrorClass.PERMANENT, ErrorClass.UNCLASSIFIED


class Answered(Exception):
    """An error as HTTP clients raise it: the response hangs on it."""

    def __init__(self, status: object) -> None:
        super().__init__(f"status {status}")
        self.response = SimpleNamespace(status_code=status)


class AnsweredLate(Answered, TimeoutError):
    """A time-out that carries a response."""


class BusySite(Transient):
    """A user's own transient error."""


class GonePage(Permanent):
    """A user's own permanent error."""


# --- classes


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Transient("busy"), TRANSIENT),
        (BusySite(), TRANSIENT),
        (TimeoutError(), TRANSIENT),
        (ConnectionError(), TRANSIENT),
        (ConnectionResetError(), TRANSIENT),
        (BrokenPipeError(), TRANSIENT),
        (Permanent("gone"), PERMANENT),
        (GonePage(), PERMANENT),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), PERMANENT),
        (NotImplementedError(), PERMANENT),
        (ValueError("what"), UNCLASSIFIED),
        (KeyError("name"), UNCLASSIFIED),
        (OSError("disk"), UNCLASSIFIED),
        (RuntimeError(), UNCLASSIFIED),
        (json.JSONDecodeError("bad", "", 0), PERMANENT),
    ],
)
def test_an_error_has_the_class_of_its_nearest_type(error: Exception, expected: ErrorClass) -> None:
    assert classify(error) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, UNCLASSIFIED),
        (302, UNCLASSIFIED),
        (399, UNCLASSIFIED),
        (400, PERMANENT),
        (401, PERMANENT),
        (403, PERMANENT),
        (404, PERMANENT),
        (408, TRANSIENT),
        (410, PERMANENT),
        (422, PERMANENT),
        (425, TRANSIENT),
        (429, TRANSIENT),
        (499, PERMANENT),
        (500, TRANSIENT),
        (502, TRANSIENT),
        (503, TRANSIENT),
        (504, TRANSIENT),
        (599, TRANSIENT),
        (None, UNCLASSIFIED),
        ("503", UNCLASSIFIED),
    ],
)
def test_an_http_status_on_the_response_decides_where_no_type_does(status: object, expected: ErrorClass) -> None:
    assert classify(Answered(status)) is expected


def test_a_type_in_the_table_goes_before_the_status() -> None:
    assert classify(AnsweredLate(404)) is TRANSIENT


def test_a_kinds_own_table_adds_to_the_engines_and_the_most_derived_type_wins() -> None:
    table = {**ERRORS, ValueError: PERMANENT, GonePage: TRANSIENT, Answered: UNCLASSIFIED}
    assert classify(ValueError(), table) is PERMANENT
    assert classify(json.JSONDecodeError("bad", "", 0), table) is PERMANENT
    assert classify(UnicodeError(), table) is PERMANENT
    assert classify(GonePage(), table) is TRANSIENT
    assert classify(Permanent(), table) is PERMANENT
    assert classify(Answered(404), table) is UNCLASSIFIED


def test_retry_after_tells_how_long_and_who_was_busy() -> None:
    error = RetryAfter(12.5, "example.org")
    assert (error.seconds, error.resource, str(error)) == (12.5, "example.org", "retry after 12.5 s (example.org)")
    assert str(RetryAfter(3)) == "retry after 3 s"
    with pytest.raises(ValueError, match=r"^RetryAfter's seconds is 'soon': "):
        RetryAfter("soon")  # type: ignore[arg-type]


# --- fingerprints

SAME = [
    # numbers
    ("timed out after 30 s", "timed out after 7.5 s"),
    ("expected 12 rows", "expected -3 rows"),
    ("1,234 rows", "9 rows"),
    ("1e-05 is too small", "2.5 is too small"),
    ("line 3, column 12", "line 44, column 1"),
    ("x=1 (y=+2)", "x=10 (y=0)"),
    ("listing item-123 is gone", "listing item-4 is gone"),
    ("late since 1700000000000", "late since 5"),
    ("page 7", "page ٣"),
    ("no backup since 2026-11-21T10:00:00Z", "no backup since 2025-01-02T03:04:05Z"),
    ("late since 10:00:00", "late since 9:41:07"),
    # ids
    ("no task 0193e0a2-1b2c-7abc-8def-001122334455", "no task 0193FFFF-1B2C-7ABC-8DEF-0011223344AA"),
    ("no document 507f1f77bcf86cd799439011", "no document 65a1f77bcf86cd7994390aaf"),
    ("no order 01ARZ3NDEKTSV4RRFFQ69G5FAV", "no order 01BX5ZZKBKACTAV9WEVGEMMVRZ"),
    ("cannot open /tmp/tmpa1b2c3xy/a.json", "cannot open /tmp/tmp9yqkz4mv/a.json"),
    # addresses
    ("<Page object at 0x7f12ab>", "<Page object at 0x55D0c0ffee>"),
    ("connect to 10.0.0.1:443 refused", "connect to 192.168.7.9:8443 refused"),
    ("connect to ::1 refused", "connect to 2001:db8::8a2e:370:7334 refused"),
    ("connect to [::1]:80 refused", "connect to [fe80::1]:8080 refused"),
    ("connect to fe80:: refused", "connect to ::ffff:10.0.0.1 refused"),
    ("no route to 00:1a:2b:3c:4d:5e", "no route to ff:ee:dd:cc:bb:aa"),
    ("mail to a.b+c@example.com bounced", "mail to x@mail.example.co.uk bounced"),
    # URLs
    ("404 for https://a.example/x?y=1", "404 for http://b.example:8080/"),
    ("GET https://a.example/x: bad answer", "GET https://b.example/yy/z: bad answer"),
    ("'https://a.example/x' is not a page", "'ftp://b.example/yy' is not a page"),
    # white space
    ("bad  answer\n from server", "bad answer from server"),
    # several at once
    ("https://a.example/1 gave 3 of 10 in 0.5 s", "https://b.example/22 gave 0 of 9 in 12 s"),
]
DIFFERENT = [
    ("timed out", "refused"),
    ("no title", "no body"),
    ("'name'", "'title'"),
    ("deadline", "headline"),
    ("facade", "decade"),
    ("feedbackaccess", "defacedbeefed"),
    ("took 3 s", "took 3 ms"),
    ("std::bad_alloc", "std::bad_cast"),
    ("a::b failed", "c::d failed"),
    ("a b", "ab"),
    ("bad answer", "Bad answer"),
    ("utf8 expected", "ascii expected"),
    ("HTTP error in head", "HTTP error in body"),
    ("404 for https://a.example/", "404"),
    ("", "x"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_messages_that_differ_in_numbers_ids_addresses_or_urls_are_the_same_error(one: str, other: str) -> None:
    assert one != other
    assert fingerprint("Bad", one) == fingerprint("Bad", other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_messages_that_say_different_things_are_different_errors(one: str, other: str) -> None:
    assert fingerprint("Bad", one) != fingerprint("Bad", other)


def test_the_same_words_of_another_type_are_another_error() -> None:
    assert fingerprint("KeyError", "name") != fingerprint("ValueError", "name")


@given(st.text(), st.text())
def test_a_fingerprint_is_16_hexadecimal_digits_of_any_text(error_type: str, message: str) -> None:
    assert re.fullmatch("[0-9a-f]{16}", fingerprint(error_type, message))
    assert fingerprint(error_type, message) == fingerprint(error_type, message)


def test_a_fingerprint_is_the_same_in_every_version() -> None:
    """Attempts that an earlier version stored are compared with it."""
    expected = hashlib.sha256(b"Bad:page <n> of <url> \xc3\xa9").hexdigest()[:16]
    assert fingerprint("Bad", " page  5\nof\thttps://example.org/x \xe9") == expected


def test_lone_surrogates_have_a_fingerprint() -> None:
    assert fingerprint("Bad", "\ud800") != fingerprint("Bad", "\udfff")


ADDRESSES = st.ip_addresses().filter(lambda address: any(map(str.isdigit, str(address))))
"""Letters and colons alone are as likely a qualified name: ``a::b``."""
WORDS = st.lists(st.sampled_from(["page", "of", "gone", "is", "late:", "(in)"]), min_size=1, max_size=5)


@given(WORDS, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.uuids(), ADDRESSES)
def test_any_number_id_or_address_can_stand_in_for_any_other(
    words: list[str], whole: int, real: float, unique: object, address: object
) -> None:
    text = " ".join(words)
    assert fingerprint("Bad", f"{text} {whole} {text}") == fingerprint("Bad", f"{text} 0 {text}")
    assert fingerprint("Bad", f"{text} {real}") == fingerprint("Bad", f"{text} 0")
    assert fingerprint("Bad", f"{unique} {text}") == fingerprint("Bad", f"{'0' * 8}-0000-0000-0000-{'0' * 12} {text}")
    assert fingerprint("Bad", f"{text} {address}.") == fingerprint("Bad", f"{text} 127.0.0.1.")


@pytest.mark.parametrize("part", ["a.", "1a", "a@", "f:"])
def test_a_message_of_any_length_is_folded_in_one_go(part: str) -> None:
    """Quadratic folding would run into the suite's own time limit here."""
    assert len(fingerprint("Bad", part * 200_000)) == 16


# --- back-off

SEED = Retry.SEED.waits


@pytest.mark.parametrize(
    ("retry_count", "seconds"),
    [(0, 1), (1, 2), (2, 4), (3, 8), (10, 1_024), (11, 2_048), (12, 3_600), (13, 3_600), (10**9, 3_600), (-3, 1)],
)
def test_by_the_schedule_of_the_seeds_it_doubles_from_a_second_to_an_hour(retry_count: int, seconds: float) -> None:
    assert backoff_seconds(retry_count, 1.0, SEED) == pytest.approx(seconds)


@pytest.mark.parametrize(("retry_count", "seconds"), [(-1, 1), (0, 1), (1, 10), (2, 60), (3, 60), (10**9, 60)])
def test_by_default_it_is_1_10_and_60_seconds(retry_count: int, seconds: float) -> None:
    assert backoff_seconds(retry_count, 1.0) == pytest.approx(seconds)


@given(st.integers(0, 100), st.floats(0, 1, exclude_max=True))
def test_the_share_that_is_drawn_is_all_of_it_for_the_seeds_and_half_of_it_by_default(count: int, draw: float) -> None:
    whole = backoff_seconds(count, 1.0, SEED)
    assert backoff_seconds(count, draw, SEED) == pytest.approx(whole * draw)
    assert 0 <= backoff_seconds(count, draw, SEED) < whole <= BACKOFF_SECONDS_MAX
    whole = backoff_seconds(count, 1.0)
    assert whole / 2 <= backoff_seconds(count, draw) <= whole <= 60.0


POLICIES = st.builds(
    Retry, base_seconds=st.floats(0, 3_600), factor=st.floats(1, 1_000), cap_seconds=st.floats(0, 3_600),
    jitter=st.floats(0, 1),
)  # fmt: skip


@given(POLICIES, st.integers(0, 10**12), st.floats(0, 1))
def test_no_policy_waits_longer_than_its_cap_or_less_than_not_at_all(policy: Retry, count: int, draw: float) -> None:
    assert 0 <= backoff_seconds(count, draw, policy.waits) <= policy.cap_seconds * (1 + 1e-9)


def test_a_wait_too_short_to_see_grows_to_the_cap_and_never_beyond_a_float() -> None:
    assert backoff_seconds(110, 1.0, (1e-310, 1_000.0, 3_600.0, 0.0)) == 3_600.0
    assert backoff_seconds(10**12, 1.0, (0.0, 1_000.0, 3_600.0, 0.0)) == 0.0


def test_without_a_first_wait_or_with_a_cap_of_none_it_is_tried_again_at_once() -> None:
    assert backoff_seconds(5, 1.0, Retry(base_seconds=0).waits) == 0
    assert backoff_seconds(5, 1.0, Retry(cap_seconds=0).waits) == 0


def test_a_factor_of_one_waits_evenly() -> None:
    assert [backoff_seconds(n, 1.0, Retry(base_seconds=5, factor=1).waits) for n in (0, 1, 9)] == [5.0] * 3


@pytest.mark.parametrize(
    "wrong",
    [{"attempts": 0}, {"base_seconds": -1}, {"factor": 0.5}, {"cap_seconds": 3_601}, {"jitter": 1.1},
     {"jitter": float("nan")}],
)  # fmt: skip
def test_a_policy_that_makes_no_sense_is_refused_by_name(wrong: dict[str, Any]) -> None:
    [name] = wrong
    with pytest.raises(ValueError, match=rf"^Retry\({name}="):
        Retry(**wrong)


def test_a_back_off_is_stored_with_a_task_as_a_list() -> None:
    assert waits_text(Retry(base_seconds=2, jitter=0).waits) == "[2.0, 10.0, 60.0, 0.0]"
    assert waits_from_text("[2.0, 10.0, 60.0, 0.0]") == (2.0, 10.0, 60.0, 0.0)
