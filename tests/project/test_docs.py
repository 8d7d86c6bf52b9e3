"""The pages say what the code does: names exist, links lead somewhere, tables and programs are the real ones."""

from __future__ import annotations

import ast
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from ramet.cli import main as command_line
from ramet.model.lineage.guard import BlockReason
from ramet.model.lineage.limits import HEARTBEAT_SECONDS, LEASE_SECONDS, Limits
from ramet.model.task import lifecycle
from ramet.model.task.task import Wait
from ramet.model.task.transitions import TRANSITIONS
from ramet.store.opening import open_store
from tests.docs.blocks import blocks
from tests.docs.pages import DOCS, PAGES, PROJECT, README, blocks_of, prose_of, text_of
from tests.support.waiting import HANG_SECONDS

TRACEABILITY = DOCS / "traceability.md"
CONCEPT_LINES_MAX = 140
DECISION_LINES_MAX = 80


def rows_of(page: str) -> Iterator[list[str]]:
    """The cells of every table row, without heads and rules."""
    lines = prose_of(page).splitlines()
    for at, line in enumerate(lines):
        ruled = at + 1 < len(lines) and re.fullmatch(r"\|[ |:-]+\|", lines[at + 1])
        if line.startswith("|") and not ruled and not re.fullmatch(r"\|[ |:-]+\|", line):
            yield [cell.strip() for cell in line.strip("|").split("|")]


# --- names ------------------------------------------------------------------------------------------------------

NAMED = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|md|toml))(?:::([\w.]+))?`")


SYMBOL = re.compile(r"`(\w+)::([\w.]+)`")
"""A name and its module, without the folder: a module that moves costs no page anything."""


def named_files(page: str) -> Iterator[tuple[str, str]]:
    """(file, dotted name or nothing) of everything in code style that looks like a file."""
    for found in NAMED.finditer(page):
        yield found[1], found[2] or ""


@cache
def definitions(path: Path) -> frozenset[str]:
    """Dotted names that a Python file defines: functions, classes, their members, constants."""

    def inside(body: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield prefix + node.name
                yield from inside(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield prefix + node.name
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield prefix + node.target.id
            elif isinstance(node, ast.Assign):
                yield from (prefix + target.id for target in node.targets if isinstance(target, ast.Name))

    return frozenset(inside(ast.parse(text_of(path)).body, ""))


@cache
def modules() -> dict[str, list[Path]]:
    """The Python files of the project by name, without the folder."""
    found: dict[str, list[Path]] = {}
    for tree in ("src", "tests", "examples", "benchmarks", "docs"):
        for path in (PROJECT / tree).rglob("*.py"):
            found.setdefault(path.stem, []).append(path)
    return found


def unknown_names(page: str) -> list[str]:
    """What a page names and the project does not have."""
    missing = [
        f"{module}::{name}"
        for module, name in SYMBOL.findall(page)
        if not any(name in definitions(path) for path in modules().get(module, ()))
    ]
    for file, name in named_files(page):
        path = next((root / file for root in (PROJECT, PROJECT / "src" / "ramet") if (root / file).is_file()), None)
        if path is None:
            missing.append(file)
        elif name and name not in definitions(path):
            missing.append(f"{file}::{name}")
    return missing


def unproven_rows(page: str) -> list[str]:
    """Rows of rules without a test, and without a page that says why there is none."""
    rows = (" | ".join(cells) for cells in rows_of(page))
    return [row for row in rows if not re.search(r"`(?:tests/|test_\w+::test_)|\]\(", row)]


def test_traceability_names_only_what_exists() -> None:
    page = text_of(TRACEABILITY)
    assert len(SYMBOL.findall(page)) > 700
    assert unknown_names(page) == []


def test_traceability_proves_every_row() -> None:
    page = text_of(TRACEABILITY)
    assert len(list(rows_of(page))) > 150
    assert unproven_rows(page) == []


def test_traceability_names_only_tests_as_proof() -> None:
    page = text_of(TRACEABILITY)
    proofs = [(module, name) for module, name in SYMBOL.findall(page) if module.startswith("test_")]
    assert len(proofs) > 60
    assert [(module, name) for module, name in proofs if not name.rpartition(".")[2].startswith("test_")] == []


@pytest.mark.parametrize(
    "page",
    [
        "`store/gone.py`",
        "`model/lineage/guard.py::check_everything`",
        "`guard::check_everything`",
        "`no_such_module::check_spawn`",
        "`tests/project/test_docs.py::test_gone`",
        "`GONE.md`",
    ],
)
def test_a_name_that_does_not_exist_is_found(page: str) -> None:
    assert unknown_names(page) != []


def test_a_rule_without_proof_is_found() -> None:
    head = "# T\n\n## A\n\n| rule | where | proof |\n| --- | --- | --- |\n"
    assert unproven_rows(head + "| a | `model/lineage/guard.py` | |\n") == ["a | `model/lineage/guard.py` | "]
    assert unproven_rows(head + "| a | [why](b.md) | |\n| b | | `tests/project/test_docs.py::test_x` |\n") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_every_table_index_and_metric_that_is_named_exists(page: Path) -> None:
    package = PROJECT / "src" / "ramet"
    store = package / "store"
    files = [*store.glob("schema/*.py"), store / "postgres" / "migrate.py", package / "telemetry" / "families.py"]
    known = "".join(map(text_of, files))
    names = set(re.findall(r"`(ramet_\w+)`", text_of(page)))
    assert {name for name in names if not re.search(rf"\b{name}\b", known)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_source_files_that_pages_name_exist(page: Path) -> None:
    named = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]+\w)`", text_of(page))
    assert [file for file in named if not (PROJECT / file).exists()] == []


# --- links ------------------------------------------------------------------------------------------------------


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: Path, page: str) -> list[str]:
    """Relative links of a page that lead nowhere."""
    broken = []
    prose = prose_of(page)
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose) + re.findall(r'src(?:set)?="([^"]+)"', prose):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = path.parent / file if file else path
        if not there.exists() or (anchor and anchor not in anchors(text_of(there))):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_relative_links_resolve(page: Path) -> None:
    assert broken_links(page, text_of(page)) == []


def test_a_picture_that_is_not_there_is_found() -> None:
    assert broken_links(README, '<source srcset="docs/gone.webp"><img src="LICENSE">') == ["docs/gone.webp"]


def test_a_broken_link_is_found() -> None:
    assert broken_links(README, "[a](docs/gone.md) [b](README.md#gone) [c](https://example.com) [d](LICENSE)") == [
        "docs/gone.md",
        "README.md#gone",
    ]


# --- commands and names that people use -------------------------------------------------------------------------


TYPED = ("", "text", "console", "sh", "bash")


def shown_commands(page: str) -> Iterator[list[str]]:
    """The words behind ``ramet`` in code style, in blocks of text, and in those of a console or shell."""
    for text in (
        *(block.text for block in blocks(page) if block.language in TYPED),
        *re.findall(r"`(ramet [^`]+)`", prose_of(page)),
    ):
        for line in re.findall(r"^(?:\$ )?ramet (.*)$", text, flags=re.MULTILINE):
            for command in re.split(r", ramet (?=[a-z])", line.partition(" #")[0]):
                yield re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", command).split()


def unknown_words(words: list[str]) -> list[str]:
    """Of a shown command line: the command, or the options, that do not exist. A group's options are all below it."""
    found: click.Command = command_line
    for word in words:
        below = found.get_command(click.Context(found), word.rstrip(",;:.")) if isinstance(found, click.Group) else None
        if below is None:
            break
        found = below
    if found is command_line:
        return words[:1]
    those = [found, *found.commands.values()] if isinstance(found, click.Group) else [found]
    if found.context_settings.get("ignore_unknown_options"):
        # It gives what it does not know itself to the command of this name that `ramet` has.
        passed_to = command_line.get_command(click.Context(command_line), found.name or "")
        those += [] if passed_to is None else [passed_to]
    known = {option for command in those for param in command.params for option in param.opts} | {"--help"}
    return sorted({option for word in words for option in re.findall(r"--[a-z][a-z-]+", word)} - known)


def test_shown_commands_and_their_options_exist() -> None:
    shown = [(page.name, words) for page in PAGES for words in shown_commands(text_of(page))]
    assert len(shown) > 100
    assert [(page, words) for page, words in shown if unknown_words(words)] == []


@pytest.mark.parametrize("line", ["gone", "status --gone", "settings set x 3 --gone", "schedule list --cron x"])
def test_a_command_or_option_that_does_not_exist_is_found(line: str) -> None:
    [words] = shown_commands(f"```console\n$ ramet {line}\n```\n")
    assert unknown_words(words) != []


def without_json(found: click.Command, name: str = "") -> Iterator[str]:
    """Commands, by their words, that cannot answer in JSON."""
    if isinstance(found, click.Group):
        for word in found.list_commands(click.Context(found)):
            below = found.get_command(click.Context(found), word)
            assert below is not None
            yield from without_json(below, f"{name} {word}".strip())
    elif not any("--json" in param.opts for param in found.params):
        yield name


def test_the_page_about_operating_says_which_commands_have_no_json() -> None:
    said = re.search(r"All commands but (.*?) take\s+`--json`", text_of(DOCS / "guides" / "operations.md"), re.DOTALL)
    assert said is not None
    named = {word for word in re.findall(r"`([^`]+)`", said[1]) if word != "work"}
    assert named | {"wiki work", "llm work", "jobs work"} == set(without_json(command_line))


# --- programs, tables, numbers ----------------------------------------------------------------------------------


def folded(output: str) -> str:
    """What is the same in every run: without ids, and without how far a neighbour had come."""
    output = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID", output)
    return re.sub(r"(in_flight|done)(: task ID of this lineage is) \w+", r"in_flight or done\2 ...", output)


def test_the_readme_shows_the_quickstart_and_what_it_prints(tmp_path: Path) -> None:
    program = PROJECT / "examples" / "quickstart.py"
    page = text_of(README)
    assert blocks_of(page, "python")[0] == text_of(program)
    command = [sys.executable, str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert folded(blocks_of(page.partition("It prints")[2], "text")[0]) == folded(done.stdout)


def test_the_state_table_is_the_one_in_the_code() -> None:
    page = text_of(DOCS / "concepts" / "state-machine.md")
    told = {}
    for cells in rows_of(page.partition("## The table as built")[2].partition("\n## ")[0]):
        told[cells[0].strip("`")] = (set(cells[1].split(", ")), set(cells[2].split(", ")))
    assert told == {row.name: (set(row.sources), set(row.targets)) for row in TRANSITIONS}


def test_the_refusals_are_those_of_the_code() -> None:
    page = text_of(DOCS / "concepts" / "state-machine.md").partition("## Refusals")[2].partition("\n## ")[0]
    told = {name for cells in rows_of(page) for name in re.findall(r"`(\w+)`", cells[0])}
    made = set(re.findall(r'Refused\("(\w+)"\)', text_of(Path(lifecycle.__file__))))
    assert told == made
    assert "`is_<state>`" in page


def test_the_guards_order_is_that_of_the_code() -> None:
    page = text_of(DOCS / "concepts" / "lineage-and-guard.md").partition("## The guard")[2].partition("\n## ")[0]
    assert [name for cells in rows_of(page) for name in re.findall(r"`(\w+)`", cells[1])] == list(BlockReason)


def test_every_wait_is_explained() -> None:
    page = text_of(DOCS / "concepts" / "state-machine.md")
    assert [wait for wait in Wait if f"`{wait}`" not in page] == []


def test_the_limits_are_the_defaults() -> None:
    section = text_of(DOCS / "concepts" / "limits.md").partition("## The defaults")[2].partition("\n## ")[0]
    told = {cells[0].strip("`"): float(cells[1].replace(",", "")) for cells in rows_of(section)}
    assert len(told) >= 10
    assert told == {name: float(getattr(Limits(), name)) for name in told}
    assert f"A claim's lease is {LEASE_SECONDS:.0f} seconds, extended every {HEARTBEAT_SECONDS:.0f}." in section


def test_the_storage_page_names_every_table_and_its_queries_run(tmp_path: Path) -> None:
    page = text_of(DOCS / "concepts" / "storage.md")
    open_store(tmp_path / "ramet.db").close_now()
    with sqlite3.connect(tmp_path / "ramet.db") as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        queries = blocks_of(page, "sql")
        assert len(queries) > 4
        for query in queries:
            database.execute(query).fetchall()
    database.close()
    assert {name for name in tables if name.startswith("ramet_")} == {cells[0].strip("`") for cells in table_rows(page)}


def table_rows(page: str) -> Iterator[list[str]]:
    return rows_of(page.partition("## Tables")[2].partition("\n## ")[0])


def test_pages_stay_short() -> None:
    lengths = {page: len(text_of(page).splitlines()) for page in PAGES}
    concepts = [page.name for page in lengths if page.parent.name == "concepts" and lengths[page] > CONCEPT_LINES_MAX]
    decisions = [
        page.name for page in lengths if page.parent.name == "decisions" and lengths[page] > DECISION_LINES_MAX
    ]
    assert (concepts, decisions) == ([], [])
