"""Reasons of ends: a code with facts that reads as its words, stored in two columns and never read back from words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.reasons import Reason, code_of, facts_of, inner, outer, rest_of, restored, stored, with_on_end

WORDS = [
    (Reason("permanent_error"), "permanent_error", ""),
    (Reason("attempts_exhausted", attempts=3), "attempts_exhausted: 3", "3"),
    (Reason("repeated_error", task="t1"), "repeated_error: as task t1", "as task t1"),
    (Reason("retry_in", seconds=4.0), "retry_in: 4.000 s", "4.000 s"),
    (Reason("chain_depth", value=7), "chain_depth: 7", "7"),
    (Reason("poison", losses=3, alone=2), "poison: 3 claims lost, 2 of them alone", "3 claims lost, 2 of them alone"),
    (Reason("task_deadline"), "task_deadline", ""),
    (Reason("task_deadline", own="not yet"), "task_deadline: not yet", "not yet"),
    (Reason("on_end_overdue", seconds=3_600.0), "not done within 3600 s", "not done within 3600 s"),
    (Reason("excluded"), "excluded", ""),
    (Reason("excluded", text="spam: all of it"), "excluded: spam: all of it", "spam: all of it"),
    (Reason("cancelled", by="ann: me"), "cancelled by ann: me", "cancelled by ann: me"),
    (Reason("cancelled", by="ann", text="so"), "cancelled by ann: so", "cancelled by ann: so"),
    (Reason("cancel_tree", task="t1"), "cancel_tree: t1", "t1"),
    (Reason("dependency_failed", task="t1"), "dependency_failed: t1", "t1"),
    (Reason("spawn_refused", refused="depth"), "spawn_refused: depth", "depth"),
    (Reason("source_disabled", resource="a, b", text="by a person"), "source_disabled: a, b, by a person",
     "a, b, by a person"),
    (Reason("cost", ceiling="day", limit=2 * 10**9, spent=3 * 10**9),
     "cost: the ceiling of the day is $2.00, $3.00 spent", "the ceiling of the day is $2.00, $3.00 spent"),
    (Reason("cost", ceiling="day", soft=False, limit=10, spent=4, reserved=1, wanted=6),
     "cost: the ceiling of the day is $0.00000001: $0.000000004 spent, $0.000000001 reserved, $0.000000005 left, "
     "$0.000000006 wanted",
     "the ceiling of the day is $0.00000001: $0.000000004 spent, $0.000000001 reserved, $0.000000005 left, "
     "$0.000000006 wanted"),
    (Reason("cost", ceiling="day", soft=True, limit=10, spent=4, reserved=6, wanted=6, stuck=True),
     "cost: the soft ceiling of the day is $0.00000001: $0.000000004 spent, $0.000000006 reserved "
     "(by tasks that wait for money themselves, so it counts as spent), nothing left, $0.000000006 wanted",
     "the soft ceiling of the day is $0.00000001: $0.000000004 spent, $0.000000006 reserved "
     "(by tasks that wait for money themselves, so it counts as spent), nothing left, $0.000000006 wanted"),
    (Reason("joined", tasks=3), "joined: 3 tasks", "3 tasks"),
    (Reason("wait_cycle", task="t1"), "wait_cycle: task t1 waits for this one", "task t1 waits for this one"),
    (Reason("given", text="so"), "so", "so"),
    (Reason("imported", status="gone"), "imported as gone", "imported as gone"),
    (Reason("import_duplicate", task="t1"), "import_duplicate: of task t1", "of task t1"),
    (Reason("import_cycle", text="ancestor r works on this key"), "import_cycle: ancestor r works on this key",
     "ancestor r works on this key"),
    (Reason("over_before_import", state="failed"), "the lineage was failed before the import",
     "the lineage was failed before the import"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "words", "rest"), WORDS, ids=lambda one: str(one)[:40])
def test_a_reason_reads_as_its_words_and_is_stored_as_its_code_and_facts(reason: Reason, words: str, rest: str) -> None:
    assert (reason, str(reason), rest_of(reason)) == (words, words, rest)
    assert type(str(reason)) is str
    again = restored(*stored(reason))
    assert (again, code_of(again), facts_of(again)) == (words, reason.code, reason.facts)
    assert outer(inner(reason)) == words


@pytest.mark.parametrize("text", ["poison: 3 claims lost", "task_deadline", "", "so; on_end: boom"])
def test_what_a_person_or_a_handler_says_is_a_text_whatever_it_says(text: str) -> None:
    assert stored(text) == (text, None)
    assert restored(text, None) == text
    assert (code_of(text), facts_of(text), rest_of(text)) == (None, {}, text)
    assert outer(inner(text)) == text


def test_facts_are_stored_as_short_json_in_their_own_letters() -> None:
    assert stored(Reason("excluded", text="gr\xfcn", n=1)) == ("excluded", '{"text":"gr\xfcn","n":1}')


def test_no_reason_is_none() -> None:
    assert (stored(None), restored(None, None), code_of(None), rest_of(None)) == ((None, None), None, None, "")


def test_what_went_wrong_at_the_end_stands_behind_the_reason() -> None:
    ended = with_on_end(Reason("cancelled", by="ann"), Reason("poison", losses=3, alone=0))
    assert ended == "cancelled by ann; on_end: poison: 3 claims lost, 0 of them alone"
    again = restored(*stored(ended))
    assert (code_of(again), facts_of(again)["by"]) == ("cancelled", "ann")
    assert outer(facts_of(again)["on_end"]) == "poison: 3 claims lost, 0 of them alone"
    given = with_on_end("as agreed", "boom")
    assert (given, code_of(given), rest_of(given)) == ("as agreed; on_end: boom", "given", "as agreed")


@given(st.text(), st.text())
def test_no_text_of_a_person_is_taken_for_more_than_that(by: str, text: str) -> None:
    reason = with_on_end(Reason("cancelled", by=by, text=text), text)
    found = facts_of(restored(*stored(reason)))
    assert (found["by"], found["text"], outer(found["on_end"])) == (by, text, text)


@pytest.mark.parametrize("code", ["poison", "cost", "repeated_error", "of a later version"])
def test_a_row_without_its_facts_reads_as_its_code(code: str) -> None:
    assert restored(code, "{}") == code
    assert rest_of(restored("of a later version", '{"a":1}')) == ""
