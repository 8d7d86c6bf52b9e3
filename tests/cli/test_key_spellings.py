"""Commands find a key in any spelling, and say what they compared it with where they find nothing."""

from __future__ import annotations

from tests.cli.conftest import Cli
from tests.cli.operate.test_guard_commands import submit, work


def test_commands_find_a_key_in_any_spelling(cli: Cli) -> None:
    task_id, lineage = submit(cli, "page", "/", url="https://example.com")
    work(cli)
    for key in ("https://example.com/", "https://Example.com"):
        assert [one["id"] for one in cli.documents("tasks", "--kind", "page", "--key", key)] == [task_id]
        assert [one["key"] for one in cli.documents("blocks", lineage, "--key", key)] == ["https://example.com/"]
        [known] = cli.documents("explain", "page", key)
        assert known["key"] == "https://example.com/"


def test_exclude_and_the_stop_list_take_any_spelling(cli: Cli) -> None:
    task_id, _ = submit(cli, "page", url="https://example.com/a")
    [done] = cli.documents("exclude", "page", "HTTPS://example.com/x/../a", "--reason", "not wanted")
    assert done["excluded"] == [task_id]
    [added] = cli.documents("stop-list", "add", "pattern", "https://Example.org")
    assert added["value"] == "https://example.org/"
    assert "is on the stop list" in cli.bad(
        "submit", "tests.cli.apps.guard_app:app", "page", '{"url": "https://example.org"}'
    )
    [removed] = cli.documents("stop-list", "remove", "pattern", "https://Example.org/")
    assert removed["removed"] is True


def test_where_nothing_is_found_commands_say_what_they_compared(cli: Cli) -> None:
    submit(cli, "page")
    for said in (
        cli.good("tasks", "--key", "https://nowhere.com"),
        cli.good("blocks", "--key", "https://nowhere.com"),
        cli.bad("exclude", "page", "https://nowhere.com", "--reason", "no"),
        cli.bad("explain", "page", "https://nowhere.com"),
    ):
        assert "key 'https://nowhere.com' (nor 'https://nowhere.com/'" in " ".join(said.split())
