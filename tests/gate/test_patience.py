"""No test gives up earlier than pytest does, so that none fails because a machine is busy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import HANG_SECONDS

PROJECT = Path(__file__).parents[2]
LIMITS = {"give_up_seconds", "timeout", "timeout_seconds"}
EXPIRES_SECONDS_MAX = 0.2
"""What is shorter is a limit that a test wants to pass."""
ALLOWED: dict[str, str] = {
    "tests/chaos/": "its limits are part of what it does to a database; nothing is asserted of them",
}
"""A file, or the beginning of its name, to the reason why it may have limits of its own."""


def short_limits(name: str, text: str) -> Iterator[str]:
    """Calls with a number of seconds after which they give up."""
    if not any(word in text for word in ("timeout", "give_up", "wait_for")):
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or ast.unparse(node.func).endswith("mark.timeout"):
            continue
        limits = [word.value for word in node.keywords if word.arg in LIMITS]
        if ast.unparse(node.func) in {"asyncio.timeout", "asyncio.wait_for"}:
            limits += node.args[-1:]
        for limit in limits:
            seconds = limit.value if isinstance(limit, ast.Constant) else None
            if isinstance(seconds, int | float) and EXPIRES_SECONDS_MAX < seconds < HANG_SECONDS:
                yield f"{name}:{node.lineno}: gives up after {seconds} s: use HANG_SECONDS"


def test_every_test_waits_until_pytest_gives_up() -> None:
    found = [
        line
        for path in sorted((PROJECT / "tests").rglob("*.py"))
        if not any(path.relative_to(PROJECT).as_posix().startswith(name) for name in ALLOWED)
        for line in short_limits(path.relative_to(PROJECT).as_posix(), path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("subprocess.run(command, timeout=60)", 1),
        ("await client.result(id, timeout_seconds=1.5)", 1),
        ("await asyncio.wait_for(work(), 10)", 1),
        ("async with asyncio.timeout(30): pass", 1),
        ("process.wait(timeout=HANG_SECONDS)", 0),
        ("await client.wait(id, timeout_seconds=0.0)", 0),
        ("pytest.mark.timeout(60)", 0),
    ],
)
def test_a_short_limit_is_found(line: str, found: int) -> None:
    assert len(list(short_limits("a.py", f"async def test():\n    {line}\n"))) == found
