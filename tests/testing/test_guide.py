"""The program in the guide is a test module that passes."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "testing.md"


def examples() -> dict[str, Any]:
    [source] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(source, str(GUIDE), "exec"), names)
    return {name: value for name, value in names.items() if name.startswith("test_")}


@pytest.mark.parametrize("name", sorted(examples()))
def test_the_example_passes(name: str) -> None:
    asyncio.run(examples()[name]())


def test_there_are_examples() -> None:
    assert len(examples()) == 3
