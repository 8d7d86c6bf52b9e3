"""A page, executed from top to bottom in one folder."""

from __future__ import annotations

import ast
import asyncio
import builtins
import configparser
import dis
import inspect
import json
import os
import re
import sqlite3
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

import yaml

from ramet import App
from ramet.store.opening import open_store
from tests.docs.blocks import Block, Step, Wrong, blocks, is_shown, steps
from tests.docs.shell import Shell

SHOWN_ONLY = frozenset({"text", "nginx", "svg", "html", "mermaid", "http", "diff", "ts"})
"""Languages that nothing is done with. A block without a language is none: it must say what it is."""
NAMED_IN_ANSWERS = {"TASK_ID": r"^task +([0-9a-f-]{36})\b", "TRACKING_ID": r"^lineage +(\S+)$"}
"""What stands for an id in commands, and where an answer before tells it."""


class Reading:
    """One who reads a page and does what it says.

    Args:
        folder: where; empty, or prepared for the page.
        programs: a folder with ``ramet``.
        given: names that snippets take for granted.
        known: values of :data:`NAMED_IN_ANSWERS` that the folder's preparation made.
        environment: variables that the reader has.
    """

    def __init__(
        self,
        folder: Path,
        programs: Path,
        *,
        given: Mapping[str, Any] | None = None,
        known: Mapping[str, str] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.names = {"__name__": "page", **(given or {})}
        self.known = dict(known or {})
        self.programs = programs
        self.environment = environment
        self.shell: Shell | None = None
        self.done: list[str] = []
        """What was done, a word for each block."""

    def read(self, page: str) -> None:
        """Do all of it.

        Raises:
            Wrong: a block does not do what is said; the message names its line.
        """
        with Shell(self.folder, self.programs, self.environment) as self.shell:
            for block in blocks(page):
                self._block(block)

    def _block(self, block: Block) -> None:
        if block.not_run:
            if block.language == "python":
                _compiled(block)
            self.done.append("not run")
            return
        if block.title:
            file = self.folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        act = _ACTS.get(block.language)
        if act is None and block.language not in SHOWN_ONLY:
            raise Wrong(f"line {block.line}: a block of {block.language or 'no language'}: console, python, text, ...?")
        if act is not None:
            act(self, block)
            self.done.append(block.language)

    def console(self, block: Block) -> None:
        """Type the commands, compare the answers."""
        for step in steps(block):
            self._step(step)

    def _step(self, step: Step) -> None:
        assert self.shell is not None
        command = re.sub(r"\b[A-Z]+_ID\b", lambda found: self.known.get(found[0], found[0]), step.command)
        if step.in_background:
            self.shell.start(command, step.shown)
            return
        status, answer = self.shell.run(command)
        for name, pattern in NAMED_IN_ANSWERS.items():
            found = re.search(pattern, answer, flags=re.MULTILINE)
            if found:
                self.known[name] = found[1]
        if step.shown.strip() and not is_shown(step.shown, answer):
            raise Wrong(f"line {step.line}: {command}\nthe page shows:\n{step.shown}\nit is:\n{answer}")
        if status and not step.shown.strip():
            raise Wrong(f"line {step.line}: {command}\nends with {status}, and the page does not say so:\n{answer}")

    def script(self, block: Block) -> None:
        """Run the whole block."""
        assert self.shell is not None
        status, answer = self.shell.run(block.text)
        if status:
            raise Wrong(f"line {block.line}: ends with {status}:\n{answer}")

    def python(self, block: Block) -> None:
        """Run a snippet with what the snippets before it defined; a file only has to be a program."""
        code = _compiled(block)
        if block.title:
            return
        with _inside(self.folder):
            try:
                asyncio.run(self._with_a_client(code)) if code.co_flags & inspect.CO_COROUTINE else eval(
                    code, self.names
                )
            except Exception as error:
                raise Wrong(f"line {block.line}: {type(error).__name__}: {error}") from error
        unknown = sorted({name for name in _asked_for(code) if name[:2] != "__"} - set(self.names) - set(dir(builtins)))
        if unknown:
            raise Wrong(f"line {block.line}: nobody defines {', '.join(unknown)}")

    async def _with_a_client(self, code: CodeType) -> None:
        """A snippet that awaits is a part of a program; one that has no client yet gets one."""
        if "client" in self.names:
            await eval(code, self.names)
            return
        async with App().client(self.folder / ".home" / "given.db") as client:
            await eval(code, {**self.names, "client": client})
        self.names["client"] = None


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _compiled(block: Block) -> CodeType:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        code: CodeType = compile(block.text, f"line {block.line}", "exec", flags=flags, dont_inherit=True)
        return code
    except SyntaxError as error:
        raise Wrong(f"line {block.line}: {error}") from error


def _asked_for(code: CodeType) -> Iterator[str]:
    """Names that code and the functions in it look up beyond themselves."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and code.co_name not in _BODIES:
            yield str(step.argval)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _asked_for(part)


_BODIES = frozenset({"<module>"})
"""Where a missing name was an error already."""


def _toml(reading: Reading, block: Block) -> None:
    tomllib.loads(block.text)


def _yaml(reading: Reading, block: Block) -> None:
    yaml.safe_load(block.text)


def _json(reading: Reading, block: Block) -> None:
    try:
        json.loads(block.text)
    except ValueError:
        for line in block.text.splitlines():  # JSON Lines
            json.loads(line)


def _ini(reading: Reading, block: Block) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capitals
    parser.read_string(block.text)


def _sql(reading: Reading, block: Block) -> None:
    if not block.text.lstrip().upper().startswith("SELECT"):
        raise Wrong(f"line {block.line}: only SELECT is run; mark it")
    place = reading.folder / ".home" / "empty.db"
    if not place.exists():
        open_store(place).close_now()
    database = sqlite3.connect(place)
    try:
        database.execute(block.text).fetchall()
    finally:
        database.close()


_Act = Callable[[Reading, Block], None]
_ACTS: Mapping[str, _Act] = {
    "console": Reading.console,
    "sh": Reading.script,
    "bash": Reading.script,
    "python": Reading.python,
    "toml": _toml,
    "yaml": _yaml,
    "json": _json,
    "ini": _ini,
    "systemd": _ini,
    "sql": _sql,
}
