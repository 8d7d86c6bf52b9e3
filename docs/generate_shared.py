"""What the generators of the reference have in common: tables, and the words that stand in the source."""

from __future__ import annotations

import ast
import html
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[1]
SOURCE = PROJECT / "src"
REFERENCE = PROJECT / "docs" / "reference"


@cache
def module_tree(module: str) -> ast.Module:
    """The syntax tree of a module of this project. It is shared: read it, and change no node."""
    path = SOURCE / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def string_after(body: list[ast.stmt], at: int) -> str:
    """The bare string behind a statement: what documents an attribute."""
    following = body[at + 1] if at + 1 < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        value = following.value.value
        return inspect.cleandoc(value) if isinstance(value, str) else ""
    return ""


def constants(body: list[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    """Of each name that is a text: the name, the text, and the string that documents it."""
    for at, item in enumerate(body):
        if not isinstance(item, ast.Assign) or not isinstance(item.targets[0], ast.Name):
            continue
        if isinstance(item.value, ast.Constant) and isinstance(item.value.value, str):
            yield item.targets[0].id, item.value.value, string_after(body, at)


def members(module: str, name: str) -> dict[str, str]:
    """The values of an enumeration of texts, each with what documents it."""
    [found] = [node for node in module_tree(module).body if isinstance(node, ast.ClassDef) and node.name == name]
    return {value: told for _, value, told in constants(found.body)}


def without_roles(docstring: str) -> str:
    """Roles and double backticks as Markdown's code."""
    text = re.sub(
        r":\w+:`~?([^`]+)`", lambda found: f"`{found[1].removeprefix('ramet.').rpartition('.')[2]}`", docstring
    )
    return text.replace("``", "`")


def cell(text: object) -> str:
    """Anything as a cell of a table: on one line, with bars that part no cells."""
    line = " ".join(without_roles(str(text)).split())
    return re.sub(r"`([^`]*\|[^`]*)`", _code_with_bars, line).replace("|", "\\|")


def _code_with_bars(found: re.Match[str]) -> str:
    """Escaped in code style, bars are read in two ways: forges take the backslash away, the site leaves it there."""
    return f"<code>{html.escape(found[1], quote=False).replace('|', '&#124;')}</code>"


def code(text: object) -> str:
    """In code style; nothing for nothing."""
    return f"`{text}`" if str(text) else ""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *([cell(part) for part in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in lines)


def written_by(module: str, from_what: str) -> str:
    """The line under a title that says where to change a page."""
    return f"Written by `docs/{module}.py` from {from_what}: change that, then run `make docs`."


def page_of(*parts: str) -> str:
    """A page of its parts, with an empty line between two."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
