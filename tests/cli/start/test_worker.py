"""`ramet worker` as real processes: it drains, it stops, it ends, and it logs."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ramet.cli.worker import SAME_SIGNAL_SECONDS, Signals
from tests.cli.conftest import APP, Cli, Process

Start = Callable[..., Process]


class Waiting:
    """A task whose handler says that it runs, and runs until it may end."""

    def __init__(self, cli: Cli, folder: Path, name: str) -> None:
        self.started = folder / f"{name}.started"
        self.release = folder / f"{name}.release"
        self.id, _ = cli.submit("wait", {"started": str(self.started), "release": str(self.release)})

    def task(self, cli: Cli) -> dict[str, Any]:
        [found] = cli.documents("explain", self.id)
        task: dict[str, Any] = found["task"]
        return task | {"outcomes": [attempt["outcome"] for attempt in found["attempts"]]}


def until(there: Callable[[], bool], process: Process) -> None:
    """Wait for something that a live process is going to do."""
    while not there():
        assert not process.ended_within(0.01), process.lines


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_drains_and_hands_back_what_has_not_begun(
    cli: Cli, start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    running, behind = (Waiting(cli, tmp_path, name) for name in "ab")
    worker = start("worker", APP, "--concurrency", "1")
    until(running.started.exists, worker)
    worker.send(number)
    worker.wait_for(f"{number.name}: draining, ")
    worker.wait_for("draining: 1 tasks run on, ")
    assert worker.process.poll() is None
    running.release.touch()
    assert worker.end() == 0
    assert running.task(cli)["state"] == "success"
    rest = behind.task(cli)
    assert (rest["state"], rest["attempts"], rest["worker"]) == ("pending", 0, None)
    assert not behind.started.exists()


def test_a_terminals_ctrl_c_reaches_both_processes_and_only_drains(cli: Cli, start: Start, tmp_path: Path) -> None:
    running = Waiting(cli, tmp_path, "a")
    worker = start("worker", APP)
    until(running.started.exists, worker)
    worker.hang_up(signal.SIGINT)
    worker.hang_up(signal.SIGHUP)
    worker.wait_for("draining: 1 tasks run on, 0 go back")
    running.release.touch()
    assert worker.end() == 0
    task = running.task(cli)
    assert (task["state"], task["losses"], task["outcomes"]) == ("success", 0, ["success"])
    assert task["result"] != worker.process.pid  # it ran in the child


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_stops_and_gives_the_attempt_back(
    cli: Cli, start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    running = Waiting(cli, tmp_path, "a")
    worker = start("worker", APP)
    until(running.started.exists, worker)
    worker.send(number)
    while not worker.ended_within(SAME_SIGNAL_SECONDS / 5) and not worker.said("stopping"):
        worker.send(number)
    assert worker.end() == 128 + number
    task = running.task(cli)
    assert (task["state"], task["attempts"], task["losses"], task["outcomes"]) == ("pending", 0, 0, ["returned"])


def test_ctrl_c_before_the_handler_process_is_ready_leaves_no_traceback(cli: Cli, start: Start) -> None:
    worker = start("worker", APP)
    worker.wait_for(" serves ")
    worker.hang_up(signal.SIGINT)
    assert worker.end() == 0
    assert [line for line in worker.lines["stderr"] if "Traceback" in line or "KeyboardInterrupt" in line] == []


class FakeWorker:
    """Counts what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @property
    def in_hand(self) -> int:
        return 3

    def drain(self) -> None:
        self.told.append("drain")

    def stop(self) -> None:
        self.told.append("stop")


def test_one_wish_told_twice_is_one_wish() -> None:
    now = [100.0]
    worker = FakeWorker()
    signals = Signals(worker, lambda: now[0])
    signals.heard(signal.SIGTERM)
    signals.heard(signal.SIGTERM)
    assert (worker.told, signals.stopped) == (["drain"], None)
    now[0] += SAME_SIGNAL_SECONDS
    signals.heard(signal.SIGHUP)
    assert worker.told == ["drain"]
    signals.heard(signal.SIGINT)
    signals.heard(signal.SIGINT)
    assert (worker.told, signals.first, signals.stopped) == (["drain", "stop"], signal.SIGTERM, signal.SIGINT)


def test_until_idle_ends_when_nothing_it_serves_is_live(cli: Cli, start: Start) -> None:
    good, _ = cli.submit("node", {"name": "r", "depth": 1})
    other, _ = cli.submit("fails", {"text": "x"})
    worker = start("worker", APP, "--until-idle", "--kind", "node")
    assert worker.end() == 0
    assert worker.lines["stdout"] == []
    assert cli.documents("explain", good)[0]["task"]["state"] == "success"
    assert cli.documents("explain", other)[0]["task"]["state"] == "pending"


def test_once_leaves_what_is_delayed_and_says_so(cli: Cli, start: Start) -> None:
    good, _ = cli.submit("node", {"name": "r", "depth": 1})
    later, _ = cli.submit("node", {"name": "s"}, "--delay", "86400")
    worker = start("worker", APP, "--once")
    assert worker.end() == 0
    line = worker.wait_for("nothing is due any more; settled: 3 success; left: 0 tasks due and 1 delayed, the first ")
    due_at = cli.documents("explain", later)[0]["task"]["available_at"]
    assert datetime.fromtimestamp(due_at, UTC).strftime("%Y-%m-%dT%H:%M:%S") in line
    assert cli.documents("explain", good)[0]["task"]["state"] == "success"


def test_a_run_for_a_time_hands_back_what_still_runs(cli: Cli, start: Start, tmp_path: Path) -> None:
    running = Waiting(cli, tmp_path, "a")
    worker = start("worker", APP, "--for", "3s")
    assert worker.end() == 0
    worker.wait_for("the time is over; settled: nothing; left: 1 task due")
    assert running.task(cli)["outcomes"] == ["returned"] * running.started.exists()


def test_no_more_tasks_are_claimed_than_were_asked_for(cli: Cli, start: Start) -> None:
    for name in "abc":
        cli.submit("node", {"name": name})
    worker = start("worker", APP, "--max-tasks", "2")
    assert worker.end() == 0
    worker.wait_for("it claimed as many tasks as it may; settled: 2 success; left: 1 task due")


def test_pulled_items_go_out_in_one_run_of_a_real_worker(cli: Cli, start: Start) -> None:
    target = "tests.cli.apps.pulling_app:app"
    cli.good("submit", target, "item", "--many", "-", input="".join(f"{n}\n" for n in range(40)))
    worker = start("worker", target, "--once")
    assert worker.end() == 0
    worker.wait_for("nothing is due any more; settled: 43 success; left: 0 tasks due")


def test_only_the_named_queue_is_served(cli: Cli, start: Start) -> None:
    task, _ = cli.submit("node", {"name": "a"})
    worker = start("worker", APP, "--queue", "elsewhere")
    worker.wait_for(" serves ")
    worker.send(signal.SIGTERM)
    assert worker.end() == 0
    assert cli.documents("explain", task)[0]["task"]["fence"] == 0


def test_the_logs_are_json_lines_with_the_lineage(cli: Cli, start: Start) -> None:
    _, lineage = cli.submit("node", {"name": "r", "depth": 1})
    worker = start("worker", APP, "--until-idle", "--json")
    assert worker.end() == 0
    assert worker.lines["stderr"] == []
    logged = [json.loads(line) for line in worker.lines["stdout"]]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in logged)
    [refused] = [line for line in logged if line["logger"] == "ramet.guard"]
    assert (refused["tracking_id"], refused["reason"], refused["level"]) == (lineage, "cycle", "warning")
    assert {"task_id", "spawn_depth", "chain_length"} <= refused.keys()


def test_the_handler_process_logs_like_its_worker(cli: Cli, start: Start, tmp_path: Path) -> None:
    (tmp_path / "logging_app.py").write_text(
        "import logging\nfrom ramet import App\napp = App()\n@app.task('say')\nasync def say(context):\n"
        "    logging.getLogger('mine').info('forged\\n\\x1b[31m', extra={'page': 7})\n",
        encoding="utf-8",
    )
    process = start("submit", "logging_app:app", "say", PYTHONPATH=str(tmp_path))
    assert process.end() == 0, process.lines
    worker = start("worker", "logging_app:app", "--until-idle", "--json", PYTHONPATH=str(tmp_path))
    assert worker.end() == 0
    [said] = [line for line in map(json.loads, worker.lines["stdout"]) if line["logger"] == "mine"]
    assert (said["message"], said["page"]) == ("forged\n\x1b[31m", 7)
    assert said["process"] != worker.process.pid
    start("submit", "logging_app:app", "say", PYTHONPATH=str(tmp_path)).end()
    plain = start("worker", "logging_app:app", "--until-idle", PYTHONPATH=str(tmp_path))
    assert plain.end() == 0
    line = plain.wait_for("mine: ")
    assert line.endswith(r"] forged\n\x1b[31m")
    assert "mine: [say " in line


def test_wait_returns_with_the_result(cli: Cli, start: Start) -> None:
    worker = start("worker", APP)
    submit = start("submit", APP, "node", '{"name": "a"}', "--wait", "--json")
    assert submit.end() == 0
    [answer] = map(json.loads, submit.lines["stdout"])
    assert (answer["state"], answer["result"], answer["created"]) == ("success", {"name": "a"}, True)
    failing = start("submit", APP, "fails", '{"text": "gone"}', "--wait")
    assert failing.end() == 1
    assert "Permanent: gone" in failing.wait_for("ramet: task")
    worker.send(signal.SIGTERM)
    assert worker.end() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no_such_module:app"], "no module 'no_such_module'"),
        (["tests.cli.apps.sample_app:empty"], "the app has no kinds"),
        ([APP, "--kind", "nope"], "no kind 'nope'"),
        ([APP, "--concurrency", "0"], "concurrency"),
        ([APP, "--lease-seconds", "0"], "lease-seconds"),
        ([APP, "--once", "--until-idle"], "--once and --until-idle contradict"),
        ([APP, "--for", "0s"], "--for"),
        ([APP, "--for", "soon"], "--for"),
        ([APP, "--max-tasks", "0"], "--max-tasks"),
        ([], "--help)"),
    ],
)
def test_misuse_is_one_line(cli: Cli, start: Start, words: list[str], said: str) -> None:
    worker = start("worker", *words)
    assert worker.end() == 2
    assert (worker.lines["stdout"], len(worker.lines["stderr"])) == ([], 1)
    assert said in worker.lines["stderr"][0]


def test_status_watch_ends_when_nothing_is_live(cli: Cli, start: Start, tmp_path: Path) -> None:
    running = Waiting(cli, tmp_path, "a")
    watch = start("status", "--watch")
    machine = start("status", "--watch", "--json")
    watch.wait_for("1 pending; 0 % complete", "stdout")
    worker = start("worker", APP)
    until(running.started.exists, worker)
    watch.wait_for("1 processing; 0 % complete", "stdout")
    running.release.touch()
    assert (watch.end(), machine.end()) == (0, 0)
    assert watch.lines["stdout"][-1].endswith("1 success; 100 % complete")
    looks = [json.loads(line) for line in machine.lines["stdout"]]
    assert looks[-1]["live"] == 0
    assert all(before["states"] != after["states"] for before, after in pairwise(looks))


def test_status_watch_ends_on_ctrl_c(cli: Cli, start: Start) -> None:
    cli.submit("node", {"name": "a"}, "--delay", "1000")
    watch = start("status", "--watch")
    watch.wait_for("1 pending", "stdout")
    watch.send(signal.SIGINT)
    assert watch.end() == 0
    assert watch.lines["stderr"] == []
