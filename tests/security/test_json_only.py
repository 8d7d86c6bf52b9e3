"""Nothing that is stored or sent is ever run: values are JSON, and what JSON does not have is refused.

That nothing is unpickled anywhere is held by `tests/project/test_tidy.py::unpickling`. Supervisors and the processes of
their handlers send each other JSON (`tests/engine/base/test_work.py`).
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, InvalidKey, InvalidText, Limits, PayloadTooLarge
from ramet.testing import drain, fresh_client

SOURCE = Path(__file__).parents[2] / "src" / "ramet"
RUNNING = {"eval", "exec", "compile", "__import__", "execfile"}
LOADING = {("yaml", "load"), ("yaml", "full_load"), ("yaml", "unsafe_load"), ("marshal", "loads"), ("os", "system")}
OF_A_PERSON = {
    "cli/worker.py": "the module that somebody names on the command line",
}
"""Modules that import by a name that is no constant -> whose name it is."""


def calls(tree: ast.Module) -> Iterator[tuple[int, str, str, ast.Call]]:
    """(line, what it is called on, name) of every call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.lineno, "", node.func.id, node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else "?"
            yield node.lineno, owner, node.func.attr, node


def found(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for line, owner, name, call in calls(tree):
        shell = any(word.arg == "shell" and getattr(word.value, "value", True) for word in call.keywords)
        if (not owner and name in RUNNING) or (owner, name) in LOADING or shell:
            yield line, f"{owner}.{name}".strip(".")


def test_nothing_in_the_source_runs_text() -> None:
    seen = 0
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        seen += 1
        assert list(found(tree)) == [], path
    assert seen > 300


@pytest.mark.parametrize(
    "text", ["eval(x)", "yaml.load(x)", "subprocess.run(x, shell=True)", "exec('a')", "os.system(x)"]
)
def test_the_check_sees_what_runs_text(text: str) -> None:
    assert list(found(ast.parse(text)))


app = App(limits=Limits(max_attempts=1))


@app.task("free")
async def free(ctx: Context, payload: Any) -> Any:
    return payload


@app.task("returns", key=str)
async def returns(ctx: Context, name: str) -> Any:
    return RESULTS[name]


@app.task("typed", key=lambda numbers: "typed")
async def typed(ctx: Context, numbers: dict[str, float | None]) -> None:
    """A NaN in a typed payload would be written as null."""


class Opaque:
    """No JSON value."""


ROUND: list[Any] = []
ROUND.append(ROUND)
DEEP: Any = []
for _ in range(5_000):
    DEEP = [DEEP]
RESULTS: dict[str, Any] = {
    "nan": {"a": math.nan},
    "infinity": [math.inf],
    "minus": -math.inf,
    "half": "\ud800",
    "half name": {"\udc00": 1},
    "opaque": Opaque(),
    "round": ROUND,
    "deep": DEEP,
    "code": compile("1", "x", "eval"),
    "function": test_nothing_in_the_source_runs_text,
    "large": "x" * 262_143,
}
"""What a handler returns that cannot be kept."""


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "large"])
async def test_a_payload_that_is_no_json_is_refused(name: str) -> None:
    async with fresh_client(app) as client:
        with pytest.raises((InvalidText, InvalidKey, ValueError)) as raised:
            await client.submit("free", RESULTS[name], key="k")
        assert "\n" not in str(raised.value)
        assert (await client.lineages()) == []


async def test_a_typed_number_that_is_none_is_refused_and_none_is_not() -> None:
    async with fresh_client(app) as client:
        await client.submit("typed", {"a": None, "b": 1.5})
        for odd in (math.nan, math.inf):
            with pytest.raises(InvalidText, match="NaN"):
                await client.submit("typed", {"a": odd})


async def test_words_that_look_like_such_numbers_are_words() -> None:
    async with fresh_client(app) as client:
        given = {"NaN": "Infinity", "a": ["-Infinity", 1.5]}
        submitted = await client.submit("free", given)
        task = await client.get(submitted.id)
        assert task is not None
        assert task.payload == given


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**300, 2**53 + 1])
async def test_large_whole_numbers_are_kept_to_the_last_digit(number: int) -> None:
    async with fresh_client(app) as client:
        submitted = await client.submit("free", {"number": number}, key="k")
        await drain(app, client)
        task = await client.get(submitted.id)
        assert task is not None
        assert (task.payload, task.result) == ({"number": number}, {"number": number})


async def test_a_result_that_is_no_json_fails_its_task_alone() -> None:
    async with fresh_client(app) as client:
        bad = [(await client.submit("returns", name)).id for name in RESULTS]
        good = await client.submit("free", 1)
        await drain(app, client)
        for task_id in bad:
            task = await client.get(task_id)
            assert task is not None
            assert task.state == "failed", task.key
        assert (await client.get(good.id)).state == "success"  # type: ignore[union-attr]
        [(texts,)] = await client.read("SELECT COUNT(*) FROM ramet_tasks WHERE result LIKE '%NaN%'")
        assert texts == 0


async def _stored(client: Client, payload: Any) -> int:
    submitted = await client.submit("free", payload, key=str(len(payload)))
    task = await client.get(submitted.id)
    assert task is not None
    return len(json.dumps(task.payload))


async def test_the_last_byte_of_a_payload_counts_and_the_way_out_is_named() -> None:
    async with fresh_client(app) as client:
        assert await _stored(client, "x" * (262_144 - 2)) == 262_144
        with pytest.raises(PayloadTooLarge, match=r"262145 bytes, over 262144: .*ramet\.Blob"):
            await _stored(client, "x" * (262_144 - 1))
