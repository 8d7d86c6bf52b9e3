"""Who is told of an alert, when, and in which words (DESIGN §2, alert)."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from ramet.model.alerts.notifications import (
    BACKOFF_SECONDS_MAX,
    MESSAGE_BYTES_MAX,
    AlertNotice,
    Message,
    NoticeRules,
    backoff_seconds,
    body_of,
    delivery_id,
    event_of,
    link_to,
    names_of,
    sample_message,
    summary_of,
    text_of,
)
from ramet.model.alerts.rules import NAMED, Alert
from tests.model.samples import NOW

RULES = NoticeRules(cooldown_seconds=1_800.0, repeat_seconds=14_400.0)


def alert(*names: object, quiet: float = 0.0, **changes: Any) -> Alert:
    """One that fires, of which people were told so long ago."""
    evidence = {"limit": 3, "worst": [{"name": name, "weight": 1} for name in names]}
    one = Alert(
        7, "possible_loop", "lineage", "it loops", evidence, "warning", NOW - 60.0, NOW, None, "firing", 2,
        link="http://x/alerts/7", notified_at=NOW - quiet, notified_state="firing",
    )  # fmt: skip
    return replace(one, **changes)


def test_what_nobody_was_told_of_yet_is_told() -> None:
    assert event_of(None, alert(), NOW, RULES) == "fired"
    assert event_of(alert(notified_at=None), alert(acknowledged_at=NOW), NOW, RULES) == "fired"


def test_what_somebody_took_notice_of_is_not_repeated() -> None:
    assert event_of(alert(quiet=1e6), alert(acknowledged_at=NOW, severity="critical"), NOW, RULES) is None


def test_what_fires_again_soon_after_it_was_told_as_over_is_the_same_incident() -> None:
    assert event_of(alert(quiet=1_799.0, notified_state="resolved"), alert(severity="critical"), NOW, RULES) is None
    assert event_of(alert(quiet=1_800.0, notified_state="resolved"), alert(), NOW, RULES) == "fired"


def test_what_has_become_critical_is_told_at_once_and_once() -> None:
    assert event_of(alert(), alert(severity="critical"), NOW, RULES) == "repeated"
    assert event_of(alert(severity="critical"), alert(severity="critical"), NOW, RULES) is None
    assert event_of(alert(severity="critical"), alert(), NOW, RULES) is None


def test_what_fires_on_is_told_again_after_a_while_or_never() -> None:
    assert event_of(alert(quiet=14_399.0), alert(), NOW, RULES) is None
    assert event_of(alert(quiet=14_400.0), alert(), NOW, RULES) == "repeated"
    assert event_of(alert(quiet=1e6), alert(), NOW, RULES._replace(repeat_seconds=None)) is None


@pytest.mark.parametrize("pattern", sorted(NAMED))
def test_a_further_name_is_news_where_there_are_few(pattern: str) -> None:
    before = alert("a", quiet=1_800.0, pattern=pattern)
    assert event_of(before, alert("b", "a", pattern=pattern), NOW, RULES) == "repeated"
    assert event_of(before, alert("a", pattern=pattern), NOW, RULES) is None
    assert event_of(before, alert(pattern=pattern), NOW, RULES) is None
    assert event_of(alert("a", quiet=1_799.0, pattern=pattern), alert("b", pattern=pattern), NOW, RULES) is None
    assert event_of(before, alert("b"), NOW, RULES) is None


def test_names_are_texts() -> None:
    assert names_of(alert("a", 7, "a")) == {"a", "7"}


@pytest.mark.parametrize(
    ("base", "link"),
    [
        (None, None),
        ("ftp://x", None),
        ("x.example", None),
        ("http://x", "http://x/alerts/7"),
        ("https://x/ramet//", "https://x/ramet/alerts/7"),
        ("https://x/X/", "https://x/X/alerts/7"),
    ],
)
def test_a_link_leads_to_the_dashboard_where_somebody_said_where_that_is(base: str | None, link: str | None) -> None:
    assert link_to(base, 7) == link


def test_receivers_are_told_all_of_an_alert_but_what_is_the_engines_own() -> None:
    assert body_of(alert("a"), "fired", "n1", NOW) == {
        "id": "n1",
        "event": "fired",
        "at": NOW,
        "text": "warning possible_loop in lineage lineage: it loops",
        "alert": {
            "id": 7, "pattern": "possible_loop", "tracking_id": "lineage", "subject": "it loops",
            "evidence": {"limit": 3, "worst": [{"name": "a", "weight": 1}]}, "severity": "warning",
            "first_at": NOW - 60.0, "last_at": NOW, "resolved_at": None, "state": "firing", "count": 2,
            "link": "http://x/alerts/7", "acknowledged_at": None, "acknowledged_by": None,
        },
    }  # fmt: skip


def test_an_alert_on_one_line_says_whether_it_is_over() -> None:
    assert text_of("repeated", alert()) == "warning possible_loop in lineage lineage (still firing): it loops"
    assert text_of("resolved", alert(tracking_id=None)) == "warning possible_loop (resolved): it loops"


def test_many_alerts_are_summed_up() -> None:
    alerts = [alert(), alert(pattern="budget"), alert()]
    assert summary_of(alerts, "n1", NOW) == {
        "id": "n1",
        "event": "summary",
        "at": NOW,
        "text": "and 3 more alerts began to fire or were resolved: 1 budget, 2 possible_loop",
        "counts": {"budget": 1, "possible_loop": 2},
    }
    assert list(summary_of(alerts, "n1", NOW)["counts"]) == ["budget", "possible_loop"]


def test_a_test_says_that_it_is_one() -> None:
    text = "a test of channel mail by ada: nothing is wrong"
    assert sample_message("mail", "ada", "n1", NOW) == {"id": "n1", "event": "test", "at": NOW, "text": text}


def test_a_message_of_a_program_is_stored_as_receivers_get_it() -> None:
    told = Message(" news\0 \n", ("a\0", " b ")).checked()
    assert told == Message("news?", ("a?", " b "))
    assert told.body("n1", NOW) == {
        "id": "n1", "event": "message", "at": NOW, "text": "news?", "lines": ["a?", " b "],
    }  # fmt: skip
    assert Message("news", data={"jobs": 3}).checked().body("n1", NOW) == {
        "id": "n1", "event": "message", "at": NOW, "text": "news", "lines": [], "data": {"jobs": 3},
    }  # fmt: skip


def test_a_message_has_a_text_and_is_not_too_long() -> None:
    for empty in ("", " \n"):
        with pytest.raises(ValueError, match=r"^the message has no text: give one line$"):
            Message(empty, ("more",)).checked()
    room = MESSAGE_BYTES_MAX - len('{"id": "", "event": "message", "at": 0.0, "text": "", "lines": []}')
    assert len(Message("x" * room).checked().text) == room
    with pytest.raises(ValueError, match=r"^the message has more than 65,536 bytes as JSON: tell less, with a link$"):
        Message("x" * (room + 1)).checked()


def test_a_delivery_is_named_after_all_of_its_parts() -> None:
    assert delivery_id("a", 7, None) == sha256(b"a\n7\nNone").hexdigest()[:32]


def test_each_wait_is_twice_the_last_up_to_an_hour() -> None:
    assert [backoff_seconds(attempts) for attempts in (1, 2, 3, 8)] == [15.0, 30.0, 60.0, 1_920.0]
    assert backoff_seconds(9) == backoff_seconds(100_000) == BACKOFF_SECONDS_MAX == 3_600.0


@pytest.mark.parametrize(
    ("delivered_at", "given_up_at", "state"),
    [(None, None, "waiting"), (None, NOW, "given_up"), (NOW, None, "delivered"), (NOW, NOW, "delivered")],
)
def test_a_notice_waits_until_it_is_delivered_or_given_up(
    delivered_at: float | None, given_up_at: float | None, state: str
) -> None:
    notice = AlertNotice(1, 7, None, "fired", "log", "n1", {}, NOW, 0, NOW, 0.0, delivered_at, given_up_at, None)
    assert notice.state == state
