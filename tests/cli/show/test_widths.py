"""At 80 and 120 columns every command that looks fits, cuts no id, and shows ids that commands take."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from rich.cells import cell_len

from ramet.commands.extras import Extra
from tests.cli.conftest import Cli

WIDTHS = (80, 120)
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")
PART = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){0,3}[0-9a-f]{0,12}")
"""The beginning of an id, cut or whole."""
LONG = "https://jobs.example/openings/" + "a-very-long-part-of-an-address-" * 8 + "end"
WIDE = "漢字かな交じり文の長い鍵" * 9
RIGHT_TO_LEFT = "مفتاح طويل جدا " * 9
ERROR = "KeyError: 'amount' at " + "somewhere_deep_" * 12

Looks = Mapping[str, tuple[str, ...]]


@pytest.fixture
def looks(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Looks:
    """Every command that looks, without any extra, over a database with long, wide and right-to-left texts."""
    lacking = [Extra(f"an-extra-{number}", ("its-package",)) for number in range(30)]
    monkeypatch.setattr("ramet.cli.database.extras", lambda: lacking)
    failed, lineage = cli.submit("fails", {"text": ERROR}, "--key", LONG)
    cli.submit("fails", {"text": WIDE}, "--key", WIDE)
    cli.submit("rejects", {"text": RIGHT_TO_LEFT}, "--tracking-id", "nightly-" + "of-a-long-name-" * 5)
    root, tree = cli.submit("node", {"name": "top", "width": 2, "depth": 2})
    cli.work()
    waiting, _ = cli.submit("fails", {"text": "later"}, "--path", LONG, "--delay", "3600", "--tag", "long" * 12)
    cli.good("pause", "--queue", "bulk" * 12, "--reason", ERROR)
    cli.good("limit", "queue", "queue-" * 9, "--concurrency", "3")
    cli.good("limit", "resource", "host:" + "long." * 12, "--rate", "2")
    cli.good("exclude", failed, "--reason", ERROR)
    cli.good("deny-list", "add", "host", "jobs.example", "--reason", ERROR)
    return {
        "status": ("status",),
        "status of a lineage": ("status", lineage),
        "tasks": ("tasks",),
        "tasks that failed": ("tasks", "--state", "failed"),
        "explain": ("explain", failed),
        "explain what waits": ("explain", waiting),
        "tree": ("tree", tree),
        "tree of one": ("tree", root),
        "lineages": ("status", "--limit", "99"),
        "blocks": ("blocks", "list"),
        "blocks of a lineage": ("blocks", "list", tree),
        "deny-list": ("deny-list", "list"),
        "paths": ("paths",),
        "alerts": ("alerts",),
        "costs": ("costs",),
        "limits show": ("limits", "show"),
        "resources": ("resources",),
        "workers": ("workers",),
        "schedules": ("schedule", "list"),
        "audit log": ("audit-log",),
        "settings": ("settings", "list"),
        "stages": ("stages", "node"),
        "doctor": ("doctor",),
    }


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_longer_than_the_screen_and_every_id_is_one_that_explain_takes(
    cli: Cli, looks: Looks, width: int
) -> None:
    wrong: dict[str, list[str]] = {}
    shown: set[str] = set()
    for name, words in looks.items():
        result = cli.run(*words, env={"COLUMNS": str(width)})
        assert result.exit_code in (0, 1), (name, result.output)
        wrong[name] = [line for line in result.stdout.splitlines() if cell_len(line.rstrip()) > width]
        shown |= set(UUID.findall(result.stdout))
        cut = [found for found in PART.findall(result.stdout) if not UUID.fullmatch(found)]
        assert (name, cut) == (name, [])
    assert {name: lines for name, lines in wrong.items() if lines} == {}
    tasks = {task["id"] for task in cli.documents("tasks", "--limit", "1000")}
    assert len(shown & tasks) > 5
    for one in shown & tasks:
        assert one in cli.good("explain", one)


def test_short_ids_of_status_are_taken_by_commands(cli: Cli) -> None:
    of = {cli.submit("node", {"name": f"n{number}"})[1] for number in range(12)}
    lines = cli.good("status", "--limit", "99", env={"COLUMNS": "80"}).splitlines()
    short = [line.split()[0] for line in lines[lines.index("") :] if " running " in line]
    assert {len(one) for one in short} == {8}
    assert {cli.documents("status", one)[0]["tracking_id"] for one in short} == of


def test_a_whole_id_is_shown_where_there_is_room_and_in_a_pipe(cli: Cli) -> None:
    _, lineage = cli.submit("bare")
    assert lineage in cli.good("status")
    assert lineage in cli.good("status", env={"COLUMNS": "120"})
    assert lineage not in cli.good("status", env={"COLUMNS": "80"})
