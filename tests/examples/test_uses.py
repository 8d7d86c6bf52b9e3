"""The examples of use do exactly what examples/README.md says."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from ramet import App, Client
from tests.examples.test_loops import run
from tests.invariants.check import violations

pytestmark = pytest.mark.process

NAMES = ["polite_crawl.py", "provider_batch.py", "plain_worker.py", "sentry.py"]


def printed(name: str, folder: Path) -> list[str]:
    """The lines that an example prints, its database being ``kept.db`` in the folder."""
    done = run(name, folder, "kept.db")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


async def states_of(client: Client) -> dict[tuple[str, str], int]:
    assert await violations(client.store) == []
    return {(count.kind, count.state): count.tasks for count in await client.counts()}


async def test_a_host_that_is_down_gets_three_requests_and_is_left_alone_until_it_is_up(tmp_path: Path) -> None:
    lines = printed("polite_crawl.py", tmp_path)
    assert lines[-3:] == [
        "calm.example: 7 requests, breaker closed",
        "shaky.example: 7 requests, breaker closed",
        "shaky.example was left alone after 3 failures: True",
    ]
    async with App().client(tmp_path / "kept.db", create=False) as client:
        assert await states_of(client) == {("page", "success"): 9, ("page", "failed"): 1}
        [[alias, key]] = await client.store.read("SELECT alias, url_key FROM fetch_aliases", ())
        assert (alias, key) == ("http://calm.example/0", "http://calm.example/5")
        [missing] = (await client.tasks(states=["failed"])).tasks
        assert missing.key == "http://shaky.example/2"
        outcomes: Counter[tuple[str, str]] = Counter()
        for task in (await client.tasks()).tasks:
            history = await client.history(task.id)
            assert history is not None
            outcomes.update((task.key.split("/")[2], attempt.outcome) for attempt in history.attempts)
        assert outcomes == {
            ("calm.example", "success"): 6,
            ("shaky.example", "success"): 3,
            ("shaky.example", "error"): 3 + 1,
        }


async def test_a_batch_settles_every_prompt_and_books_what_the_answers_cost(tmp_path: Path) -> None:
    lines = printed("provider_batch.py", tmp_path)
    assert lines[0] == "batch: {'sent': 5, 'paid': 4}"
    assert "name all birds: failed, the provider refused it" in lines
    assert lines[-1] == "spent 4 cents, reserved 0"
    async with App().client(tmp_path / "kept.db", create=False) as client:
        assert await states_of(client) == {("prompt", "success"): 4, ("prompt", "failed"): 1, ("batch", "success"): 1}
        assert sorted(str(task.result) for task in (await client.tasks(kind="prompt")).tasks if task.result) == [
            "CROW",
            "FINCH",
            "GULL",
            "OWL",
        ]
        assert len(await client.lineages()) == 6


async def test_a_plain_loop_works_a_tree_off_and_a_link_back_up_is_refused(tmp_path: Path) -> None:
    lines = printed("plain_worker.py", tmp_path)
    assert lines[0] == "failed: /home/ann may not be read"
    assert lines[-1] == "the lineage is finished: 6 tasks created, 0 live"
    async with App().client(tmp_path / "kept.db", create=False) as client:
        assert await states_of(client) == {("folder", "success"): 4, ("folder", "filtered"): 1, ("folder", "failed"): 1}
        [lineage] = await client.lineages()
        [block] = await client.blocks(lineage.tracking_id)
        assert (block.key, block.reason, block.count) == ("/", "cycle", 1)


PAID = [
    "charge: success after 1 attempts, order 1 is paid",
    "charge: success after 2 attempts, order 2 is paid",
    "charge: failed after 1 attempts, Permanent: the card was refused",
    "receipt: failed after 2 attempts, ValueError: no template for order 4",
]


async def test_every_error_of_a_handler_is_reported_with_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Path(__file__).with_name("sentry_sdk_fake.py")
    (tmp_path / "sentry_sdk.py").write_text(fake.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("RAMET_TEST_SENTRY", str(tmp_path / "sent.jsonl"))
    assert printed("sentry.py", tmp_path) == [*PAID, "errors were reported"]
    lines = (tmp_path / "sent.jsonl").read_text(encoding="utf-8").splitlines()
    calls = [json.loads(line) for line in lines]
    assert (calls[0]["call"], calls[-1]) == ("init", {"call": "flush", "timeout": 2.0})
    reported = calls[1:-1]
    assert sorted((call["transaction"], call["type"], call["level"], call["tags"]["attempt"]) for call in reported) == [
        ("charge", "Permanent", "error", 1),
        ("charge", "Transient", "warning", 1),
        ("receipt", "ValueError", "error", 2),
        ("receipt", "ValueError", "warning", 1),
    ]
    async with App().client(tmp_path / "kept.db", create=False) as client:
        assert {call["tags"]["task_id"] for call in reported} <= {task.id for task in (await client.tasks()).tasks}


def test_without_the_sdk_nothing_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sentry_sdk.py").write_text("raise ImportError\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert printed("sentry.py", tmp_path) == [*PAID, "sentry-sdk is not installed: nothing was reported"]


@pytest.mark.parametrize("name", NAMES)
def test_a_path_that_is_no_database_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a folder" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
