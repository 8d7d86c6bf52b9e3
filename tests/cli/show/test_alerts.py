"""``ramet alerts``: nothing when nothing is wrong; what, where and how bad when something is."""

from __future__ import annotations

import json
import re

from tests.cli.conftest import Cli


def without_ages(text: str) -> str:
    """What is shown, without how long ago anything was: time passes between two commands."""
    return " ".join(re.sub(r"\bnow\b|\d+ \w+\s+ago", "AGO", text).split())


def loop(cli: Cli) -> str:
    """A lineage in which one task wants itself four times."""
    _, tracking_id = cli.submit("greedy", {"text": "\x1b[31mred"})
    cli.work()
    return tracking_id


def test_nothing_fires_when_nothing_is_wrong(cli: Cli) -> None:
    cli.submit("node", {"name": "a", "depth": 2})
    cli.work()
    assert cli.good("alerts") == "no alert fires\n"
    assert cli.good("alerts", "--all") == "no alerts\n"
    assert cli.good("alerts", "check") == "no alert fires\n"
    assert cli.documents("alerts") == []


def test_a_check_tells_what_fires_and_ends_with_status_1(cli: Cli) -> None:
    tracking_id = loop(cli)
    checked = cli.run("alerts", "check")
    assert (checked.exit_code, checked.stderr) == (1, "")
    assert "possible_loop" in checked.stdout
    assert f"lineage {tracking_id}" in checked.stdout
    assert "greedy \\x1b[31mred was wanted 5 times (tolerated: 3)" in checked.stdout
    assert "\x1b" not in checked.stdout
    assert without_ages(cli.good("alerts")) == without_ages(checked.stdout)
    assert without_ages(cli.good("alerts", "--lineage", tracking_id, "--all")) == without_ages(checked.stdout)


def test_an_alert_as_json_has_its_evidence(cli: Cli) -> None:
    tracking_id = loop(cli)
    cli.run("alerts", "check")
    loops = {alert["pattern"]: alert for alert in cli.documents("alerts")}
    assert set(loops) == {"possible_loop", "possible_cycle"}
    found = loops["possible_loop"]
    assert (found["tracking_id"], found["state"], found["count"]) == (tracking_id, "firing", 1)
    assert found["evidence"]["worst"][0]["blocked"] == {"cycle": 4}
    checked = cli.run("alerts", "check", "--json")
    assert [json.loads(line) for line in checked.stdout.splitlines()] == cli.documents("alerts")


def test_the_database_may_be_named_before_or_after_check(cli: Cli) -> None:
    loop(cli)
    before = cli.run("alerts", "--db", str(cli.database), "check", database=False)
    assert before.exit_code == 1
    assert before.stdout == cli.run("alerts", "check").stdout


def test_a_lineage_that_is_not_there_is_one_line(cli: Cli) -> None:
    loop(cli)
    assert "no lineage nowhere" in cli.bad("alerts", "--lineage", "nowhere")


def test_who_takes_notice_is_shown_and_only_once(cli: Cli) -> None:
    loop(cli)
    cli.run("alerts", "check")
    number = str(cli.documents("alerts")[0]["id"])
    assert cli.good("alerts", "ack", number, "--reason", "known").startswith("acknowledged: ")
    assert " acknowledged it " in cli.good("alerts", "ack", number)
    assert ", acknowledged by " in cli.good("alerts")
    [act] = cli.documents("audit-log")
    assert (act["act"], act["subject"], act["reason"]) == ("acknowledge_alert", f"alert {number}", "known")


def test_an_alert_that_is_not_there_is_one_line(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    told = cli.run("alerts", "ack", "99")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "no alert 99: `ramet alerts --all` lists them" in told.stderr


def test_a_test_says_what_came_of_it_and_a_channel_that_is_not_set_up_is_one_line(cli: Cli) -> None:
    cli.submit("node", {"name": "a"})
    assert cli.good("alerts", "test", "--channel", "log") == "log: delivered\n"
    told = cli.run("alerts", "test", "--channel", "pager")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "channel 'pager': it is not set up here" in told.stderr
    assert [item["name"] for item in cli.documents("alerts", "channels") if item["here"]] == ["log"]
