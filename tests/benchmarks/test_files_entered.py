"""The profiler of one operation prints the same figures twice and sees every thread and every form of function."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.files_entered import OPERATIONS, Profile, Recorder, main, profile

HERE = Path(__file__)
COUNTED = ("get", "submit", "claim", "settle", "spawn")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(arguments)
    return capsys.readouterr().out


def test_two_runs_print_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--list", *COUNTED)
    assert found == printed(capsys, "--list", *COUNTED)
    assert all(f"| {OPERATIONS[name].title} |" in found for name in COUNTED)


def test_a_submit_is_followed_into_the_thread_of_the_store() -> None:
    found = profile("submit")
    elsewhere = {call.file for call in found.calls if call.thread != threading.get_ident()}
    assert any(file.startswith("store/sqlite") for file in elsewhere), elsewhere
    assert elsewhere < found.files.keys()
    assert 1 < len(found.files) < found.functions < len(found.calls)
    assert len(found.files) <= found.crossings < len(found.calls)


def test_a_worker_enters_files_that_claim_and_settle_do_not() -> None:
    parts = profile("claim").files.keys() | profile("settle").files.keys()
    assert parts < profile("worker").files.keys()


def test_an_unknown_operation_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["submit", "nothing"])
    assert "unknown operation nothing: choose from get, submit" in capsys.readouterr().err


@dataclass(frozen=True)
class Point:
    place: int


class Pair(NamedTuple):
    one: int
    other: int


async def _pause() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def _work(through: Callable[[Callable[[], Any]], Any]) -> None:
    Point(1)
    Pair(1, 2)
    sum(number for number in range(5))
    through(lambda: None)
    asyncio.run(_pause())


def test_generated_code_lambdas_generators_and_coroutines_count_once_a_call_in_any_thread() -> None:
    # A second file of the watched folder, which calls back into this one.
    second: dict[str, Any] = {}
    exec(compile("def through(function): return function()", str(HERE.with_name("second.py")), "exec"), second)
    recorder = Recorder(HERE.parent)
    with recorder.watching(), recorder.recording():
        thread = threading.Thread(target=_work, args=[second["through"]])
        thread.start()
        thread.join()
        Point(2)
    _work(second["through"])
    found = Profile("work", recorder.calls)
    names = Counter((call.file, call.name.rpartition(".")[2], call.caller) for call in found.calls)
    assert names == {
        (HERE.name, "_work", None): 1,
        (HERE.name, "__init__", HERE.name): 2,
        (HERE.name, "<lambda>", HERE.name): 1,  # makes the named tuple
        (HERE.name, "<genexpr>", HERE.name): 1,
        ("second.py", "through", HERE.name): 1,
        (HERE.name, "<lambda>", "second.py"): 1,
        (HERE.name, "_pause", HERE.name): 1,
    }
    assert found.files == {"second.py": 1, HERE.name: 7}
    assert (found.functions, found.crossings) == (7, 2)
