"""`ramet retry | cancel | exclude` by a filter: counted, confirmed, done."""

from __future__ import annotations

import pytest

from ramet.cli.errors import CliError
from ramet.cli.operations import moment_of
from tests.cli.conftest import Cli


@pytest.fixture
def failed(cli: Cli) -> list[str]:
    ids = [cli.submit("fails", {"text": name})[0] for name in ("a", "b")]
    cli.work()
    return ids


def test_a_filter_counts_and_asks_before_it_does_anything(cli: Cli, failed: list[str]) -> None:
    said = cli.bad("retry", "--kind", "fails")
    assert "this would retry 2 tasks (fails failed 2): give --yes to do it" in said
    assert [one["state"] for one in cli.documents("tasks", "--kind", "fails")] == ["failed", "failed"]
    assert cli.good("retry", "--kind", "fails", "--since", "1h", "--yes", "--reason", "over") == "revived 2 tasks\n"
    assert [one["state"] for one in cli.documents("tasks", "--kind", "fails")] == ["pending", "pending"]
    [act] = cli.documents("audit-log")
    assert (act["act"], act["reason"], act["detail"]["kind"]) == ("bulk_retry", "over", "fails")
    [done] = cli.documents("cancel", "--kind", "fails", "--state", "pending,processing", "--yes")
    assert sorted(done["done"]) == sorted(failed)
    assert (done["selected"], done["left"]) == (2, {})
    assert "excluded 2 tasks" in cli.good("exclude", "--state", "failed,cancelled", "--yes", "--reason", "not wanted")


def test_where_nothing_matches_nothing_is_asked(cli: Cli, failed: list[str]) -> None:
    for words in (
        ("--kind", "nothing"), ("--error", "another text"), ("--lineage-prefix", "nothing"),
        ("--kind", "fails", "--since", "2999-01-01"),
    ):  # fmt: skip
        assert cli.good("retry", *words) == "no such task\n"


def test_a_filter_goes_with_nothing_that_names_a_task(cli: Cli, failed: list[str]) -> None:
    for words in (
        ("retry", failed[0], "--kind", "fails"), ("retry", "--failed", "x", "--kind", "fails"), ("retry",),
        ("cancel", failed[0], "--kind", "fails"), ("cancel", "--kind", "fails", "--tree"), ("cancel",),
        ("exclude", failed[0], "--kind", "fails", "--reason", "r"), ("exclude", "--reason", "r"),
        ("exclude", "--kind", "fails", "--lineage", "x", "--reason", "r"),
        ("retry", "--state", "success", "--yes"), ("retry", "--state", "ended", "--yes"),
        ("retry", "--kind", "fails", "--since", "yesterday"),
    ):  # fmt: skip
        cli.bad(*words)


def test_moments_are_spans_times_of_day_and_dates() -> None:
    now = 1_800_000_000.0
    assert moment_of("90m", now) == now - 5_400
    assert moment_of("2h ago", now) == now - 7_200
    assert moment_of("1.5 d", now) == now - 129_600
    assert moment_of("2026-11-25T10:00+00:00", now) == 1_795_600_800
    assert 0 <= now - moment_of("10:00", now) < 86_400
    for text in ("", "soon", "25:00", "5", "nan", "99999-01-01"):
        with pytest.raises(CliError, match="is not a valid moment"):
            moment_of(text, now)
