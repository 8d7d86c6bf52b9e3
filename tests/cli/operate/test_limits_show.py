"""``ramet limits show``: all numbers, and what they allow, computed from them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import pytest

from ramet import PRESETS, Limits
from ramet.model.lineage.limits import BALANCED
from tests.cli.conftest import PROJECT, Cli

PAGE = PROJECT / "docs" / "concepts" / "limits.md"
DOLLAR = 1_000_000_000


def words(text: str) -> str:
    """With single spaces, so that no test depends on a table's columns."""
    return re.sub(r" +", " ", text)


def test_balanced_shows_every_number_and_the_worst_hour(cli: Cli) -> None:
    shown = words(cli.good("limits", "show", "--preset", "balanced"))
    for name in asdict(Limits()):
        assert f"\n{name} " in shown
    for line in (
        "invocations 36 (2 + 1) x 12",
        "items of a cycle 3,000 (2 + 1) x 1,000",
        "items 36,000 12 x 3,000",
        "calls, all retries made 252,000 36,000 x (6 + 1)",
        "one stuck item 443.5 s (6 + 1) x 60 s + 23.5 s between",
        "at $0.50 for 1,000 calls $18.00 $126.00",
        "at $2.00 for 1,000 calls $72.00 $504.00",
        "a lineage at $100.00",
    ):
        assert line in shown


@pytest.mark.parametrize(("name", "hour"), [("conservative", 24_000), ("balanced", 36_000), ("aggressive", 72_000)])
def test_json_has_every_limit_and_whole_nano_dollars(cli: Cli, name: str, hour: int) -> None:
    [found] = cli.documents("limits", "show", "--preset", name, "--price", "1.5", "--price", "0")
    assert found["limits"] == json.loads(json.dumps(asdict(PRESETS[name])))
    assert found["worst_case"]["items"] == hour
    assert [(bill["call_price"], bill["items"]) for bill in found["money"]] == [(1_500_000, hour * 1_500_000), (0, 0)]


def test_a_preset_needs_no_database_and_makes_none(cli: Cli) -> None:
    cli.good("limits", "show", "--preset", "aggressive")
    assert not cli.database.exists()
    assert "no database" in cli.bad("limits", "show")


def test_what_is_in_force_is_what_is_set_in_the_database(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert "no ceiling on money is set" in cli.good("limits", "show")
    cli.good("settings", "set", "max_chain_depth", "5")
    cli.good("settings", "set", "invocation_items", "100")
    cli.good("settings", "set", "cost.day_max", "25")
    [found] = cli.documents("limits", "show")
    assert found["of"] == "in force"
    assert (found["worst_case"]["items_per_cycle"], found["worst_case"]["items"]) == (600, 7_200)
    assert found["ceilings"] == {"cost.day_max": 25_000_000_000}
    assert "ends earlier: cost.day_max is $25.00" in cli.good("limits", "show")


@pytest.mark.parametrize(
    "more", [["--preset", "reckless"], ["--price", "-1"], ["--price", "nan"], ["--price", "x"], ["--price", "1e300"]]
)
def test_what_cannot_be_is_refused_in_one_line(cli: Cli, more: list[str]) -> None:
    assert cli.bad("limits", "show", *more)


def test_limits_of_nothing_are_shown(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    cli.good("settings", "set", "max_chain_depth", "0")
    cli.good("settings", "set", "call_retries", "0")
    shown = words(cli.good("limits", "show"))
    assert "one stuck item 60 s (0 + 1) x 60 s = 60 s of an invocation's 600 s" in shown


def test_the_page_shows_what_the_command_prints(cli: Cli) -> None:
    told = PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    shown = cli.good("limits", "show", "--preset", "balanced", "--price", "0.5", "--price", "2")
    printed = {words(line).strip() for line in shown.splitlines()}
    lines = [words(line).strip() for line in told.splitlines()]
    assert len(lines) > 10
    assert [line for line in lines if line and line not in printed] == []


def test_the_pages_table_has_all_in_which_the_presets_differ() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Presets")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    told = {name.strip("`"): [_amount(cell) for cell in cells] for name, *cells in rows[2:]}
    names = [name for name in asdict(BALANCED) if len({asdict(limits)[name] for limits in PRESETS.values()}) > 1]
    assert set(told) == set(names)
    for name, amounts in told.items():
        assert amounts == [asdict(PRESETS[preset])[name] for preset in ("conservative", "balanced", "aggressive")]


def _amount(cell: str) -> int:
    amount = int(cell.replace(",", "").removeprefix("$"))
    return amount * DOLLAR if cell.startswith("$") else amount
