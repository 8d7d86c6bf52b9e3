"""The reader of pages finds what is not as a page says."""

from __future__ import annotations

import configparser
import sqlite3
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import Wrong, is_shown
from tests.docs.running import Reading

pytestmark = pytest.mark.process


def console(*lines: str) -> str:
    return "\n".join(["```console", *lines, "```", ""])


SOUND = {
    "an answer": console("$ echo owl", "owl"),
    "a comment": console("$ echo owl  # it says so", "owl"),
    "what a shell keeps": console("$ export A=owl", "$ mkdir nest && cd nest", "$ echo $A > a", "$ cat a", "owl"),
    "a command of ramet": console("$ ramet --version | cut -c 1-5", "ramet"),
    "an error that is shown": console("$ ramet status", "ramet: no database at ramet.db: ..."),
    "a command in two lines": console("$ echo one \\", "    two", "one two"),
    "a program": '```python title="bird.py"\nprint("owl")\n```\n' + console("$ python bird.py", "owl"),
    "a document here": console("$ cat <<'END' | wc -l", "a", "b", "END", "2"),
    "a server": console("$ python -m http.server 0 --bind 127.0.0.1 &", "$ kill %1"),
    "two snippets": "```python\nbird = 'owl'\n```\n```python\nassert bird == 'owl'\n```\n",
    "a snippet that awaits": "```python\nimport asyncio\n\nawait asyncio.sleep(0)\n```\n",
    "toml": "```toml\na = 1\n```\n",
    "yaml": "```yaml\na: 1\n```\n",
    "json lines": '```json\n{"a": 1}\n{"b": 2}\n```\n',
    "a unit": "```ini\n[Unit]\nAfter=a\nAfter=b\n```\n",
    "a question": "```sql\nSELECT id FROM ramet_tasks;\n```\n",
    "what is not run": "<!-- not run: there is no owl -->\n" + console("$ owl"),
    "what is only shown": "```text\n$ owl\n```\n",
    "a block in a list": "- a\n\n    ```console\n    $ echo owl\n    owl\n    ```\n",
}  # fmt: skip

WRONG = {
    "another answer": console("$ echo owl", "eagle"),
    "more of an answer": console("$ echo owl; echo eagle", "owl"),
    "a failure that is not shown": console("$ false"),
    "no such command": console("$ ramet gone"),
    "a background command that ends otherwise": console("$ false &", "ready"),
    "an answer without a command": console("owl"),
    "a program that is none": '```python title="bird.py"\nprint(\n```\n',
    "a snippet that is not run and none": "<!-- not run: an owl -->\n```python\nprint(\n```\n",
    "a name that nobody defines": "```python\nasync def hoot():\n    await owl()\n```\n",
    "a snippet that fails": "```python\nassert 1 == 2\n```\n",
    "no language": "```\nowl\n```\n",
    "broken toml": "```toml\na =\n```\n",
    "broken yaml": "```yaml\na: [\n```\n",
    "broken json": "```json\n{\n```\n",
    "broken ini": "```ini\nowl\n```\n",
    "a table that is not there": "```sql\nSELECT id FROM ramet_owls;\n```\n",
    "a change": "```sql\nDELETE FROM ramet_tasks;\n```\n",
    "a marker for another block": "<!-- not run: an owl -->\n\nText.\n\n" + console("$ false"),
}


@pytest.mark.parametrize("page", SOUND.values(), ids=SOUND)
def test_what_holds_passes(page: str, programs: Path, tmp_path: Path) -> None:
    reading = Reading(tmp_path, programs)
    reading.read(page)
    assert reading.done or "```text" in page


@pytest.mark.parametrize("page", WRONG.values(), ids=WRONG)
def test_what_does_not_hold_is_found(page: str, programs: Path, tmp_path: Path) -> None:
    with pytest.raises((Wrong, ValueError, sqlite3.Error, yaml.YAMLError, configparser.Error)):
        Reading(tmp_path, programs).read(page)


def test_what_a_page_starts_ends_with_it(programs: Path, tmp_path: Path) -> None:
    program = 'import os, time; print("owl", os.getpid(), flush=True); time.sleep(1000)'
    Reading(tmp_path, programs).read(console(f"$ python -c '{program}' &", "owl ..."))
    pid = int((tmp_path / ".home" / "background-0").read_text().split()[1])
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("shown", "answer", "is_same"),
    [
        ("task 0199b1c2-e93a-7c70-8327-a34794c8f6ef", "task  01a20016-be93-7c70-8327-a34794c8f6ef\n", True),
        ("since 2026-11-25 10:25:44 (37 s ago)", "since 2027-01-01 00:00:00 (4 min ago)", True),
        ("first  6 s ago", "first  now", True), ("a now b", "a 6 s ago b", False),
        ("a ... z", "a b c z", True), ("a ... z", "a b c", False), ("...", "anything", True), ("1 owl", "2 owl", False),
    ],
)  # fmt: skip
def test_what_differs_in_every_run_is_no_difference(shown: str, answer: str, is_same: bool) -> None:
    assert is_shown(shown, answer) is is_same
