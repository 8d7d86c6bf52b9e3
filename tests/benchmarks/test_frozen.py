"""The yardstick of the comparison stays as recorded, or both figures are noted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import frozen

COMMAND = 'python -m benchmarks.frozen --change "what, and why" --before FIGURE --after FIGURE'


def test_the_yardstick_is_as_recorded() -> None:
    names = frozen.changed(frozen.recorded(), frozen.found())
    assert not names, f"frozen, and changed: {', '.join(names)}: measure before and after, then {COMMAND}"


def test_the_page_has_every_change_with_both_figures() -> None:
    page = frozen.PAGE.read_text(encoding="utf-8")
    changes = frozen.recorded()["changes"]
    assert f"{frozen.BEGIN}\n\n{frozen.table(changes)}\n\n{frozen.END}" in page
    assert all(value.strip() for change in changes for value in change.values())


def test_a_change_of_any_kind_is_found_by_its_name() -> None:
    now = frozen.found()
    assert frozen.changed(now | {"changes": ["one"]}, now) == []
    for topic, names in now.items():
        for name in names:
            other = now | {topic: names | {name: "other"}}
            assert frozen.changed(other, now) == [f"{topic}: {name}"]
            assert frozen.changed(now, {**now, topic: {key: names[key] for key in names if key != name}}) == [
                f"{topic}: {name}"
            ]


def test_all_that_bears_a_figure_is_frozen() -> None:
    now = frozen.found()
    assert {"engine/bare_loop.py", "engine/bare_loop_postgres.py", "peers/ramet_app.py", "peers/role.py"} <= now[
        "programs"
    ].keys()
    assert {"pgqueuer", "psycopg", "graphile-worker"} <= now["versions"].keys()
    assert now["durability"] == {"SQLite": ["journal_mode = WAL", "synchronous = FULL"], "PostgreSQL": ["durable=True"]}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record of what is there, and a page, that may be written."""
    record, page = tmp_path / "frozen.json", tmp_path / "page.md"
    record.write_text(json.dumps(frozen.found() | {"changes": []}), encoding="utf-8")
    page.write_text(f"{frozen.BEGIN}\n{frozen.END}\n", encoding="utf-8")
    monkeypatch.setattr(frozen, "RECORD", record)
    monkeypatch.setattr(frozen, "PAGE", page)
    return tmp_path


def test_nothing_is_recorded_without_both_figures_or_without_a_change(elsewhere: Path) -> None:
    words = ["--change", "faster", "--before", "1/s", "--after", "2/s"]
    for left_out in (0, 2, 4):
        result = CliRunner().invoke(frozen.main, words[:left_out] + words[left_out + 2 :])
        assert (result.exit_code, "Missing option" in result.output) == (2, True)
    result = CliRunner().invoke(frozen.main, words)
    assert (result.exit_code, "there is no change to note" in result.output) == (2, True)


def test_a_change_is_recorded_with_both_figures_in_the_page(elsewhere: Path) -> None:
    record = frozen.recorded()
    record["versions"]["huey"] = "0.1"
    frozen.RECORD.write_text(json.dumps(record), encoding="utf-8")
    words = ["--change", "huey 0.1 to the pinned one", "--before", "1,000/s", "--after", "2,000/s"]
    result = CliRunner().invoke(frozen.main, words)
    assert (result.exit_code, result.output) == (0, "recorded: versions: huey\n")
    assert frozen.changed(frozen.recorded(), frozen.found()) == []
    assert "| huey 0.1 to the pinned one | 1,000/s | 2,000/s |" in frozen.PAGE.read_text(encoding="utf-8")
