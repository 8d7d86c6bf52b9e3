"""What a row of another queue means here, field by field."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import pytest

from ramet.model.importing import (
    ADVANCED,
    ImportedRow,
    RowError,
    Rules,
    advance_of,
    as_json,
    column_name,
    from_first_stage,
    parse_pairs,
    parse_row,
    state_on_arrival,
    storable,
)
from ramet.model.task.task import TaskState

PLAIN = Rules()


def row(rules: Rules = PLAIN, **fields: Any) -> ImportedRow:
    return parse_row({"id": "a", "type": "job", **fields}, rules)


def test_a_row_of_the_first_design() -> None:
    got = row(
        url="HTTPS://X.example:443/jobs?utm_source=a", status="failed", retry_count=2, max_retries=3,
        error_details="boom", parent_item_id="p", tracking_id="t", ancestry_chain=["t", "p"], spawn_depth=1,
        max_spawn_depth=10, pipeline_stage="fetch", pipeline_state={"a": 1}, queueHint=["A", "B:C"],
        created_at="2025-09-30T12:00:00Z", company="Stripe",
    )  # fmt: skip
    assert got == ImportedRow(
        id="a", kind="job", key="https://x.example/jobs",
        payload={"company": "Stripe", "url": "HTTPS://X.example:443/jobs?utm_source=a"}, status="failed",
        state="failed", retry_count=2, max_attempts=4, error="boom", parent_id="p", tracking_id="t",
        max_spawn_depth=10, stage="fetch", pipeline_state={"a": 1}, path=["A", "B:C"], created_at=1_759_233_600.0,
        spawn_depth=1,
    )  # fmt: skip


def test_text_of_a_csv_is_read_as_what_it_says() -> None:
    got = row(retry_count="2", max_retries="3", ancestry_chain='["p"]', pipeline_state='{"a": [1]}', parent_item_id="",
              queue_hint='["A"]', created_at="1759233600", error_details="")  # fmt: skip
    assert (got.retry_count, got.max_attempts, got.parent_id, got.pipeline_state) == (2, 4, "p", {"a": [1]})
    assert (got.path, got.created_at, got.error) == (["A"], 1_759_233_600.0, None)


@pytest.mark.parametrize(
    ("chain", "tracking_id", "parent"),
    [(["a"], None, None), (["t"], "t", None), (["t", "a"], "t", None), (["t", "r", "p"], "t", "p"), ([], None, None)],
)
def test_own_id_and_tracking_id_are_no_ancestors(chain: list[str], tracking_id: str | None, parent: str | None) -> None:
    assert row(ancestry_chain=chain, tracking_id=tracking_id).parent_id == parent


@pytest.mark.parametrize(
    ("status", "state"),
    [("pending", "pending"), ("Queued", "pending"), ("in-progress", "processing"), ("done", "success"),
     ("COMPLETE", "success"), ("error", "failed"), ("canceled", "cancelled"), ("discovered", "pending"),
     ("claimed", "processing"), ("processed", "success"), ("skipped", "skipped"), ("filtered", "filtered"),
     ("excluded", "skipped"), ("", "pending"), ("mine", "skipped")],
)  # fmt: skip
def test_words_for_states(status: str, state: str) -> None:
    assert row(Rules(states={"mine": TaskState.SKIPPED}), status=status).state == state


def test_what_was_running_arrives_pending_and_loaded_keeps_its_stage() -> None:
    loaded = row(status="loaded")
    assert (state_on_arrival(loaded.state), loaded.stage) == ("pending", "loaded")
    assert [state_on_arrival(state) for state in ("failed", "success")] == ["failed", "success"]


@pytest.mark.parametrize(
    ("status", "retries", "most", "attempts"),
    [("pending", 0, 3, 0), ("pending", 2, 3, 2), ("pending", 3, 3, 3), ("pending", 9, 3, 3), ("processing", 1, 3, 1),
     ("failed", 3, 3, 4), ("failed", 9, 3, 4), ("success", 0, None, 1), ("success", 2, 3, 3)],
)  # fmt: skip
def test_retries_are_attempts_and_a_pending_row_always_has_one_left(
    status: str, retries: int, most: int | None, attempts: int
) -> None:
    assert row(status=status, retry_count=retries, max_retries=most).attempts == attempts


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2025-09-30T12:00:00", 1_759_233_600.0), ("2025-09-30 14:00:00+02:00", 1_759_233_600.0),
     (1_759_233_600, 1_759_233_600.0), (1_759_233_600_000, 1_759_233_600.0), (" 1759233600000 ", 1_759_233_600.0),
     (1_759_233_600.5, 1_759_233_600.5), (None, None), ("2025-09-30", 1_759_190_400.0)],
)  # fmt: skip
def test_moments(value: Any, seconds: float | None) -> None:
    assert row(created_at=value).created_at == seconds


def test_a_field_that_is_given_twice_counts_once_where_both_say_the_same() -> None:
    assert row(kind="job", type="job").kind == row(kind="", type="job").kind == "job"


def test_paths_keys_and_payloads() -> None:
    assert row(documentId="d:1").path == ["d:1"]
    assert row(queueHint=[], documentId="d").path == []
    assert row(queueHint="A").path == ["A"]
    assert [row().key, row(url=" Some  Title ").key] == ["a", "Some  Title"]
    assert row(Rules(payload_column="data"), data='{"n": 1}', other=2).payload == {"n": 1}
    assert row(Rules(payload_column="data"), data=[1]).payload == [1]
    assert row(Rules(columns={"link": "url"}), link="https://x.example").key == "https://x.example/"
    assert row(Rules(kinds={"job": "page"})).kind == "page"


DATE = "give a date like 2025-09-30T12:00:00Z, or Unix seconds"
BAD: list[tuple[dict[str, Any], str]] = [
    ({"id": ""}, "id is missing: every row needs one"),
    ({"id": None}, "id is missing: every row needs one"),
    ({"id": "x" * 201}, "id has 201 characters, over 200: shorten it"),
    ({"id": "a\x00"}, "id has the character '\\x00': remove it"),
    ({"id": "\ud800"}, "id has the character '\\ud800': remove it"),
    ({"id": {"$oid": "1"}}, "id is {'$oid': '1'}: give it as text"),
    ({"type": ""}, "type is missing: every row needs one"),
    ({"type": True}, "type is True: give it as text"),
    ({"status": "odd"}, "status is 'odd': say what it means with --status odd=STATE"),
    ({"retry_count": -1}, "retry_count is -1: give a number from 0 to 1000000"),
    ({"retry_count": "two"}, "retry_count is 'two': give a whole number"),
    ({"retry_count": 1.5}, "retry_count is 1.5: give a whole number"),
    (
        {"retry_count": "9" * 5_000},
        "retry_count is '99999999999999999999999999999999999999999999999999999999...: give a whole number",
    ),
    ({"max_retries": True}, "max_retries is True: give a whole number"),
    ({"max_spawn_depth": 10**9}, "max_spawn_depth is 1000000000: give a number from 0 to 1000"),
    ({"spawn_depth": "deep"}, "spawn_depth is 'deep': give a whole number"),
    ({"ancestry_chain": "p"}, 'ancestry_chain is not valid JSON: write it like ["a"] or {"n": 1}'),
    ({"ancestry_chain": [1]}, "ancestry_chain is [1]: give a list of texts"),
    ({"pipeline_state": "{"}, 'pipeline_state is not valid JSON: write it like ["a"] or {"n": 1}'),
    ({"pipeline_state": "[" * 200_000}, 'pipeline_state is not valid JSON: write it like ["a"] or {"n": 1}'),
    ({"queueHint": ["x"] * 101}, "queue_hint has over 100 elements or 16384 bytes: shorten it"),
    ({"queueHint": {"a": 1}}, "queue_hint is {'a': 1}: give a list of texts"),
    ({"queueHint": ["a\0b"]}, "queue_hint has the character '\\x00': remove it"),
    (
        {"queueHint": ["x" * 1_025]},
        "queue_hint: a path element of 1025 bytes is too long: use at most 1024, or its hash",
    ),
    ({"created_at": True}, f"created_at is True: {DATE}"),
    ({"created_at": [1]}, f"created_at is [1]: {DATE}"),
    ({"created_at": "yesterday"}, f"created_at is 'yesterday': {DATE}"),
    ({"created_at": -1}, f"created_at is -1: {DATE}"),
    ({"created_at": 10**400}, f"created_at is 100000000000000000000000000000000000000000000000000000000...: {DATE}"),
    ({"created_at": "nan"}, f"created_at is 'nan': {DATE}"),
    (
        {"url": "http://"},
        "url is 'http://': the URL has no host: give an absolute one such as https://example.org/page",
    ),
    (
        {"url": "ftp://x.example/"},
        "url is 'ftp://x.example/': the URL has another scheme or none: give an absolute one with http:// or https://",
    ),
    ({"url": "a\x00b"}, "url has the character '\\x00': remove it"),
    ({"kind": "page"}, "type is given twice, as 'job' and 'page': keep one of them"),
    ({"error_details": "\ud800"}, "error_details has the character '\\ud800': remove it"),
]


@pytest.mark.parametrize(("fields", "message"), BAD, ids=[f"{n} {message[:30]}" for n, (_, message) in enumerate(BAD)])
def test_what_makes_no_sense_is_refused_with_the_field_and_what_to_do(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RowError) as refused:
        row(**fields)
    assert str(refused.value) == message


def test_what_is_just_within_its_bounds_is_taken() -> None:
    got = row(
        id="x" * 200, type="k" * 200, tracking_id="t" * 200, pipeline_stage="s" * 200, status="success",
        retry_count=1_000_000, max_retries=1_000_000, max_spawn_depth=1_000, spawn_depth=1_000_000,
        queueHint=["a"] * 100, created_at=0, error_details="e" * 10_001,
    )  # fmt: skip
    assert (len(got.id), len(got.kind), len(got.tracking_id or ""), len(got.stage or "")) == (200, 200, 200, 200)
    assert (got.retry_count, got.max_attempts, got.max_spawn_depth) == (1_000_000, 1_000_001, 1_000)
    assert (got.path, got.created_at, got.error) == (["a"] * 100, 0.0, "e" * 10_000)
    assert row(created_at=10_000_000_000).created_at == 10_000_000_000.0
    assert [row(created_at=at).created_at for at in (99_999, 100_000_000_000)] == [99_999.0, 100_000_000.0]
    # With its brackets and quotes a path of one element has four bytes more.
    assert row(status="success", queueHint=["x" * 16_380]).path == ["x" * 16_380]
    with pytest.raises(RowError, match="16384 bytes"):
        row(status="success", queueHint=["x" * 16_381])
    for fields in ({"retry_count": 1_000_001}, {"max_spawn_depth": 1_001}, {"type": "k" * 201}, {"status": "s" * 201}):
        with pytest.raises(RowError):
            row(**fields)


def test_a_column_without_a_meaning_of_its_own_stays_in_the_payload_under_its_name() -> None:
    assert row(theirColumn=1, pipeline_state="").payload == {"theirColumn": 1}
    assert row(pipeline_state="").pipeline_state is None


def test_a_word_for_a_state_is_found_however_it_is_spelt() -> None:
    rules = Rules(states={"on_hold": TaskState.SKIPPED, "Odd-One": TaskState.FAILED})
    assert [row(rules, status=status).state for status in ("On-Hold", "on hold", "Odd-One")] == [
        "skipped", "skipped", "failed",
    ]  # fmt: skip


def test_pairs_of_options() -> None:
    assert parse_pairs(["a=b", "c=d=e"], "--map") == {"a": "b", "c": "d=e"}
    for bad in ("a", "a=", "=b"):
        with pytest.raises(RowError, match="is not a pair: write it like --map theirs=ours"):
            parse_pairs([bad], "--map")


def test_of_two_rows_the_more_advanced_is_larger() -> None:
    assert [advance_of(state) for state in ADVANCED] == list(range(7))
    assert {*ADVANCED} == {state.value for state in TaskState}


def test_a_value_is_stored_as_the_json_that_it_is_if_every_database_can_hold_it() -> None:
    assert as_json({"a": ["gr\xfcn", None]}, "payload", 100) == '{"a":["gr\xfcn",null]}'
    assert as_json("\xfc" * 4, "payload", 10) == '"\xfc\xfc\xfc\xfc"'
    assert storable(r'"a\\u0000"', "payload") == r'"a\\u0000"'


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("\xfc" * 5, "payload has 12 bytes, over 10: keep the large part elsewhere, with a reference"),
        ("\0", "payload has a NUL or half a character: remove it"),
        ("\\\0", "payload has a NUL or half a character: remove it"),
        ("\ud800", "payload has a NUL or half a character: remove it"),
        (float("nan"), "payload is not valid JSON (Out of range float values are not JSON compliant: nan): correct it"),
        (b"a", "payload is not valid JSON (Object of type bytes is not JSON serializable): correct it"),
    ],
)
def test_what_no_database_holds_is_refused_in_words(value: object, words: str) -> None:
    with pytest.raises(RowError) as caught:
        as_json(value, "payload", 10)
    assert str(caught.value).replace("compliant)", "compliant: nan)") == words


def test_a_number_that_json_does_not_know_is_refused() -> None:
    with pytest.raises(RowError, match="pipeline_state is not valid JSON: write it like") as caught:
        row(pipeline_state='{"a": NaN}')
    assert str(caught.value.__cause__) == "NaN is not valid JSON"


def test_an_empty_text_says_nothing_and_a_field_given_twice_is_taken_from_where_it_says_something() -> None:
    got = row(
        retry_count="", max_retries="", ancestry_chain="", queue_hint="", created_at="", pipeline_state="", status="",
        kind="", queueHint=["A"], retryCount=None, parent_item_id="p",
    )  # fmt: skip
    assert (got.retry_count, got.parent_id, got.path, got.created_at, got.status) == (0, "p", ["A"], None, "")
    assert row(queue_hint="", documentId="d").path == ["d"]


def test_only_a_loaded_row_has_its_status_as_its_stage_and_a_status_stays_as_it_was_spelt() -> None:
    for status, stage in (("Loaded", "loaded"), ("Done", None), ("in-progress", None)):
        got = row(status=status)
        assert (got.status, got.stage) == (stage or status, stage)


def test_an_error_that_is_no_text_is_kept_as_json() -> None:
    assert row(error_details={"g": "gr\xfcn", "at": [1]}).error == '{"g": "gr\xfcn", "at": [1]}'
    assert row(error_details={"at": UTC}).error == '{"at": "UTC"}'
    assert row(error_details="boom").error == "boom"


@pytest.mark.parametrize(
    ("data", "payload"), [('["a"]', ["a"]), ('{"n": 1}', {"n": 1}), ("plain", "plain"), ("", ""), ({"[": 1}, {"[": 1})]
)
def test_a_payload_column_is_parsed_where_it_is_an_object_or_a_list(data: Any, payload: Any) -> None:
    assert row(Rules(payload_column="data"), data=data).payload == payload


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"data": "[a"}, 'data is not valid JSON: write it like ["a"] or {"n": 1}'),
        ({"status": "s" * 50}, f"status is '{'s' * 50}': say what it means with --status {'s' * 40}=STATE"),
        ({"status": "s" * 58}, f"status is '{'s' * 58}': say what it means with --status {'s' * 40}=STATE"),
        ({"status": "s" * 59}, f"status is '{'s' * 56}...: say what it means with --status {'s' * 40}=STATE"),
        ({"retry_count": "1" * 20}, "retry_count is '11111111111111111111': give a number from 0 to 1000000"),
        ({"retry_count": "1" * 21}, f"retry_count is '{'1' * 21}': give a whole number"),
    ],
)
def test_a_refusal_shows_the_beginning_of_what_it_refuses(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RowError) as refused:
        row(Rules(payload_column="data"), **fields)
    assert str(refused.value) == message


def test_a_column_of_sub_tasks_is_known_whatever_is_before_it() -> None:
    assert [column_name(name, PLAIN) for name in ("parentSubTask", "crawl_sub_task", "sub_task")] == ["sub_task"] * 3


def test_a_column_that_is_no_field_keeps_its_own_name() -> None:
    assert [column_name(name, PLAIN) for name in ("theirColumn", " queueHint ", "Status")] == [
        "theirColumn", "queue_hint", "status",
    ]  # fmt: skip


# --- where a handler goes on


def goes_on(stage: str | None, state: dict[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
    """Takes over what was read, and nothing else."""
    return ("read", {"text": state["text"], "stage": stage}) if "text" in state else None


@pytest.mark.parametrize(
    ("stage", "state", "takeover", "found"),
    [
        (None, None, goes_on, (None, None)),
        ("there", {"text": "x"}, goes_on, ("read", {"text": "x", "stage": "there"})),
        (None, {"text": "x"}, goes_on, ("read", {"text": "x", "stage": None})),
        ("there", {"text": "x"}, None, (None, {"imported": {"stage": "there", "pipeline_state": {"text": "x"}}})),
        ("there", {"a": 1}, goes_on, (None, {"imported": {"stage": "there", "pipeline_state": {"a": 1}}})),
        ("there", None, goes_on, (None, {"imported": {"stage": "there", "pipeline_state": None}})),
        ("there", ["text"], goes_on, (None, {"imported": {"stage": "there", "pipeline_state": ["text"]}})),
        (None, {"text": "x", "$n": 1}, goes_on,
         (None, {"imported": {"stage": None, "pipeline_state": {"text": "x", "$n": 1}}})),
        (None, {"": 1, "text": "x"}, goes_on, ("read", {"text": "x", "stage": None})),
        ("there", None, lambda stage, state: (stage, state), ("there", None)),
        ("there", {"a": 1}, lambda stage, state: (None, {}), (None, None)),
    ],
)  # fmt: skip
def test_a_handler_goes_on_from_what_its_kind_takes_over_and_begins_anew_otherwise(
    stage: str | None, state: Any, takeover: Any, found: tuple[Any, Any]
) -> None:
    given = row()._replace(stage=stage, pipeline_state=state)
    told = from_first_stage(given, takeover)
    assert (told.stage, told.pipeline_state) == found
    assert told._replace(stage=stage, pipeline_state=state) == given


@pytest.mark.parametrize("value", [3, "text", [1], None])
def test_a_dotted_column_finds_nothing_in_what_is_no_object(value: Any) -> None:
    rules = Rules(columns={"input.url": "url"})
    found = row(rules, url="https://x.example/own", input=value)
    assert found.key == "https://x.example/own"


def test_a_dotted_column_is_read_from_an_object_or_its_json() -> None:
    rules = Rules(columns={"input.url": "url", "input.meta.n": "retry_count"}, payload_column="input.data")
    value = {"url": "https://x.example/a", "meta": {"n": 3}, "data": [1]}
    for given in (value, json.dumps(value), {**value, "meta": json.dumps(value["meta"])}):
        found = row(rules, input=given)
        assert (found.key, found.retry_count, found.payload) == ("https://x.example/a", 3, [1])
    own = row(rules, input=value, url="https://x.example/own", retry_count=5)
    assert (own.key, own.retry_count) == ("https://x.example/own", 5)
    assert row(rules, input=value, **{"input.url": "https://x.example/b"}).key == "https://x.example/b"
    with pytest.raises(RowError, match=r'^input.url is not valid JSON: write it like \["a"\] or {"n": 1}$'):
        row(rules, input="{")


def test_a_step_tells_rows_of_one_piece_of_work_apart_and_stays_in_its_payload() -> None:
    found = row(crawlSubTask="fetch", other=1)
    assert (found.step, found.payload) == ("fetch", {"crawlSubTask": "fetch", "other": 1})
    assert row(sub_task="").step is None
    with pytest.raises(RowError, match=r"^sub_task has 201 characters, over 200: shorten it$"):
        row(sub_task="x" * 201)


@pytest.mark.parametrize(
    ("value", "moment"),
    [({"_seconds": 5}, 5.0), ({"seconds": "7", "nanos": 1}, 7.0), ({"_seconds": 5, "seconds": 6}, 5.0),
     ("2025-09-30T12:00:00+00:00", 1_759_233_600.0), ("", None), ({"seconds": None}, None)],
)  # fmt: skip
def test_the_end_of_a_row_is_a_moment_however_it_is_written(value: Any, moment: float | None) -> None:
    assert row(completed_at=value, status="done").ended_at == row(endedAt=value, status="done").ended_at == moment


@pytest.mark.parametrize("value", [{"nanos": 1}, {}, "99999999999999999999", 1e300, -1e300])
def test_what_is_no_moment_is_refused_as_the_end_of_a_row(value: Any) -> None:
    with pytest.raises(RowError, match=f"^completed_at is .*: {DATE}$"):
        row(completed_at=value)
