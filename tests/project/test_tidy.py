"""What no linter holds: sizes, forbidden calls, machine paths, one place that changes a task's state.

Every check is a function from a folder to findings. It is run twice: on this project, where it must find
nothing, and on bad samples, where it must find something; so a check that has gone blind fails as well.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TREES = ("src", "tests", "benchmarks", "examples")
LINES_PER_FILE_MAX = 600
LINES_PER_FUNCTION_MAX = 60

LONG: dict[str, str] = {
    "src/ramet/engine/app/app.py::task": "a keyword for every option of a kind, and a docstring that tells each",
}
"""Path, or path::function, allowed to be longer -> the reason. An entry that is no longer needed fails."""

SLEEPS: dict[str, str] = {
    "src/ramet/testing/postgres_server/guard.py": "a server that is no child of ours ends, and only looking shows when",
    "src/ramet/testing/postgres_server/programs.py": "another program's state changes, and only looking shows when",
    "src/ramet/store/sqlite/session.py": "another connection writes, or turns the file to the write-ahead log, and "
    "only trying again shows when it has",
}
"""File under src that may call time.sleep -> the reason."""

STATE_WRITER = "src/ramet/store/state/apply.py"
LANES = "src/ramet/store/state/lanes.py"
"""Writes a state, too: what the other would write, many rows at a time."""
UNPICKLERS = {"cloudpickle", "dill", "joblib", "jsonpickle", "marshal", "pickle", "shelve"}
MODEL_IMPORTS = {"cronsim", "idna", "ramet"} | set(sys.stdlib_module_names)

Check = Callable[[Path], Iterator[str]]


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree of a text; every check looks at the same."""
    return ast.parse(text)


@cache
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All that is in a tree."""
    return tuple(ast.walk(tree))


@pytest.fixture(scope="module", autouse=True)
def forgotten_afterwards() -> Iterator[None]:
    """Millions of nodes are no burden for the tests that come after these."""
    yield
    parsed.cache_clear()
    nodes_of.cache_clear()


def python_files(root: Path, *trees: str) -> list[tuple[str, ast.Module]]:
    """Every Python file of the trees: its path below the root, and its syntax tree."""
    found = []
    for tree in trees or TREES:
        for path in sorted((root / tree).rglob("*.py")):
            found.append((path.relative_to(root).as_posix(), parsed(path.read_text(encoding="utf-8"))))
    return found


def lengths(root: Path) -> Iterator[tuple[str, int, int]]:
    """(name, lines, most lines allowed) of every file and every function, docstrings included."""
    for name, tree in python_files(root):
        yield name, len((root / name).read_text(encoding="utf-8").splitlines()), LINES_PER_FILE_MAX
        for node in nodes_of(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield f"{name}::{node.name}", lines, LINES_PER_FUNCTION_MAX


def too_long(root: Path) -> Iterator[str]:
    for name, lines, most in lengths(root):
        if lines > most and name not in LONG:
            yield f"{name}: {lines} lines, more than {most}: split it"


def swallowed_exceptions(root: Path) -> Iterator[str]:
    """Handlers of everything that do nothing, and suppress() of everything."""
    everything = {"Exception", "BaseException"}

    def catches_everything(expression: ast.expr | None) -> bool:
        if isinstance(expression, ast.Tuple):
            return any(catches_everything(part) for part in expression.elts)
        return expression is None or called_name(expression) in everything

    for name, tree in python_files(root):
        for node in nodes_of(tree):
            silent = (
                isinstance(node, ast.ExceptHandler)
                and catches_everything(node.type)
                and all(is_nothing(statement) for statement in node.body)
            )
            suppressed = (
                isinstance(node, ast.Call)
                and called_name(node.func) == "suppress"
                and any(catches_everything(argument) for argument in node.args)
            )
            if silent or suppressed:
                yield f"{name}:{position(node)}: every exception is swallowed: name the one that is expected"


def is_nothing(statement: ast.stmt) -> bool:
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Continue)


def called_name(expression: ast.expr) -> str:
    """The last part of a dotted name, or nothing."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def position(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def imports(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, module, name); the name is empty where a whole module is imported."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.lineno, node.module or "", alias.name


def sleeps(root: Path) -> Iterator[str]:
    """time.sleep under src, by whatever name the module was imported."""
    for name, tree in python_files(root, "src"):
        if name in SLEEPS:
            continue
        aliases = {
            alias.asname or alias.name
            for node in nodes_of(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name == "time"
        }
        lines = [line for line, module, imported in imports(tree) if (module, imported) == ("time", "sleep")]
        for node in nodes_of(tree):
            if isinstance(node, ast.Attribute) and node.attr == "sleep" and called_name(node.value) in aliases:
                lines.append(node.lineno)
        for line in lines:
            yield f"{name}:{line}: time.sleep: wait for the thing itself, or use the injected clock"


def unpickling(root: Path) -> Iterator[str]:
    for name, tree in python_files(root):
        for line, module, _ in imports(tree):
            if module.split(".")[0] in UNPICKLERS:
                yield f"{name}:{line}: {module} can run what it reads: use JSON"


def model_imports(root: Path) -> Iterator[str]:
    """The model may import the standard library, idna and itself."""
    for name, tree in python_files(root, "src/ramet/model"):
        for line, module, imported in imports(tree):
            inside = module.startswith("ramet.model") or (module, imported) == ("ramet", "model")
            if module.split(".")[0] not in MODEL_IMPORTS or (module.split(".")[0] == "ramet" and not inside):
                yield f"{name}:{line}: the model may not import {module}"


# Put together from parts, so that this file is not its own finding.
MACHINE_PATH = re.compile(r"(?<![\w./:-])/(?:" + "|".join(["work", "root"]) + r")/\w")
REGISTRY_HOST = re.compile("|".join([r"pypi\." + "org", r"python" + r"hosted\.", r"npm" + r"js\.org"]))
TEXT_SUFFIXES = {
    "",
    ".cfg",
    ".css",
    ".html",
    ".ini",
    ".js",
    ".json",
    ".lock",
    ".md",
    ".py",
    ".sh",
    ".sql",
    ".toml",
}
TEXT_SUFFIXES |= {".txt", ".yaml", ".yml"}


def text_files(root: Path) -> Iterator[Path]:
    """The project's own text files; environments and caches, wherever they lie, are nobody's text."""
    folders = [root / name for name in (*TREES, "docs", "requirements", ".ci", ".github")]
    for path in sorted([*root.iterdir(), *(path for folder in folders for path in folder.rglob("*"))]):
        # In a linked worktree .git is a file, which git wrote.
        if (
            path.is_file()
            and path.suffix in TEXT_SUFFIXES
            and path.parent.name != "__pycache__"
            and path.name != ".git"
        ):
            yield path


def machine_traces(root: Path) -> Iterator[str]:
    """Paths of the machine that this was written on, and hosts of package registries."""
    for path in text_files(root):
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if MACHINE_PATH.search(line):
                yield f"{path.relative_to(root)}:{number}: a path of one machine"
            if REGISTRY_HOST.search(line):
                yield f"{path.relative_to(root)}:{number}: a registry host: each user's own settings name it"


DECISION = re.compile(r"\bdecisions?(?:/|[\s#]+)(\d+)\b")


def unknown_decisions(root: Path) -> Iterator[str]:
    """Numbers of decisions that code and tests name and docs/decisions does not have."""
    known = {path.name.partition("-")[0] for path in (root / "docs" / "decisions").glob("[0-9]*.md")}
    for path in sorted(path for tree in TREES for path in (root / tree).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for found in DECISION.finditer(text):
            if found[1].zfill(4) not in known:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path.relative_to(root)}:{line}: there is no decision {found[1]} in docs/decisions"


UNKNOWN = r"(?:\{[^}]*\}|%s)"
KNOWN_TABLE = r"(?:ramet_)?(?:tasks|live)\b"
TABLE = rf"(?:(?:\w+|{UNKNOWN})\.)?[\"`\[]?(?:(?P<known>{KNOWN_TABLE})|(?:ramet_)?{UNKNOWN})[\"`\]]?"
UPDATE = rf"UPDATE (?:\s+OR\s+\w+)? (?:\s+ONLY)? \s+ {TABLE} [^;]*? \bSET\b (?P<set>.*?) (?:\bWHERE\b|$)"
INSERT = r"(?:INSERT (?:\s+OR\s+\w+)? \s+ INTO | REPLACE\s+INTO | MERGE\s+INTO | COPY) \s+ "
INSERT += TABLE.replace("known", "inserted") + r"(?:\s+AS\s+\w+)? \s* (?:\((?P<columns>[^)]*)\))?"
STATEMENT = re.compile(rf"\b(?:{UPDATE}|{INSERT})", re.IGNORECASE | re.VERBOSE | re.DOTALL)


def writes_task_state(sql: str) -> bool:
    """Does a statement write `state` of the tasks or the live table?

    Strict on purpose: naming `state` anywhere beside such an UPDATE or INSERT counts, and so do a column
    list that is missing or filled in at run time, and a table that is. Fence and number identify a claim
    without the state.
    """
    for match in STATEMENT.finditer(sql):
        if re.search(r"\bstate\b", sql, re.IGNORECASE):
            return True
        if match["known"] and re.search(UNKNOWN, match["set"]):
            return True
        if match["inserted"] and (match["columns"] is None or re.search(UNKNOWN, match["columns"])):
            return True
    return False


def folded(node: ast.AST) -> str:
    """The text that an expression builds, as far as it can be read; {} stands for the rest."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(folded(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return folded(left) + folded(right)
        case ast.BinOp(left=left, op=ast.Mod()):
            return folded(left)
        case ast.Call(func=ast.Attribute(value=template, attr="format")):
            return folded(template)
        case ast.Call(func=ast.Attribute(value=separator, attr="join"), args=[ast.List() | ast.Tuple() as parts]):
            return folded(separator).join(folded(part) for part in parts.elts)
    return "{}"


def built_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string that the code builds, whole and in parts; docstrings are prose, not code."""
    prose = {node.value for node in nodes_of(tree) if isinstance(node, ast.Expr)}
    for node in nodes_of(tree):
        if node not in prose and isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call):
            yield position(node), folded(node)


WRITES = {"insert": ("table", "columns", "rows"), "update": ("table", "changes", "key", "rows")}
"""Methods of a session -> its parameters. Methods of lists and dicts with the same names take fewer."""
WRITES |= {name.title(): parameters[:-1] for name, parameters in WRITES.items()}
SESSION = "src/ramet/store/session.py"
"""Passes on what its callers give: those are checked."""


def called_writes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The SQL of every session.insert and session.update, as far as it can be read.

    A table that is filled in at run time may be one of those that have a state.
    """
    known: dict[str, ast.expr] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            known[name] = ast.Tuple([node.value, known[name]]) if name in known else node.value

    def read(node: ast.expr | None) -> str:
        match node:
            case None:
                return ""
            case ast.Name(id=name) if name in known:
                return read(known[name])
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return ", ".join(map(read, parts))
            case ast.Starred(value=value):
                return read(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return f"{read(left)}, {read(right)}"
            case ast.Call(func=ast.Name(id="tuple"), args=[value]):
                return read(value)
            case ast.Call(func=ast.Attribute(value=value, attr="split"), args=[]):
                return ", ".join(folded(value).split())
        return folded(node)

    for node in nodes_of(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="insert_columns")):
                # Into several tables at once: new tasks only.
                yield node.lineno, "INSERT INTO ramet_live (state) VALUES ()"
            case ast.Call(func=ast.Attribute(attr=method) | ast.Name(id=method)) if method in WRITES:
                told = dict(zip(WRITES[method], node.args, strict=False))
                told |= {word.arg: word.value for word in node.keywords if word.arg is not None}
                if any(isinstance(value, ast.Starred) for value in node.args):
                    told |= dict.fromkeys(WRITES[method], ast.Name("?"))
                if not told.keys() >= {*WRITES[method]}:
                    continue
                table = read(told["table"])
                table = "ramet_live" if re.search(UNKNOWN, table) else table
                changes = read(told.get("changes"))
                if method.lower() == "insert":
                    yield node.lineno, f"INSERT INTO {table} ({read(told['columns'])}) VALUES () SET {changes}"
                else:
                    yield node.lineno, f"UPDATE {table} SET {changes} WHERE {read(told['key'])}"


def second_state_writers(root: Path) -> Iterator[str]:
    """SQL that writes a task's state outside the one place that may (DESIGN §4)."""
    texts = [(name, line, text) for name, tree in python_files(root, "src") for line, text in built_strings(tree)]
    texts += [
        (name, line, text)
        for name, tree in python_files(root, "src")
        if name != SESSION
        for line, text in called_writes(tree)
    ]
    for path in sorted((root / "src").rglob("*.sql")):
        texts.append((path.relative_to(root).as_posix(), 1, path.read_text(encoding="utf-8")))
    for name, line, text in texts:
        if name not in (STATE_WRITER, LANES) and any(writes_task_state(sql) for sql in text.split(";")):
            yield f"{name}:{line}: writes a task's state: only {STATE_WRITER} may (or name no state here)"


POSSESSIVE_GROUP = re.compile(r"(?<![\\(])\)(?:[*+?]|\{\d*,?\d*\})\+")


def possessive_groups(root: Path) -> Iterator[str]:
    """Patterns that Python before 3.11.5 matches wrongly; `()*+` is no pattern, but characters in a row."""
    for name, tree in python_files(root, "src"):
        for line, text in built_strings(tree):
            if POSSESSIVE_GROUP.search(text):
                yield f"{name}:{line}: a possessive group: Python 3.11.0 to 3.11.4 lose it; write (?>(?:...)*)"


BAD: list[tuple[Check, str, str]] = [
    (too_long, "src/a.py", "x = 1\n" * 601),
    (too_long, "tests/a.py", "def f():\n" + "    x = 1\n" * 60),
    (swallowed_exceptions, "src/a.py", "try:\n    f()\nexcept Exception:\n    pass\n"),
    (swallowed_exceptions, "examples/a.py", "try:\n    f()\nexcept:\n    ...\n"),
    (
        swallowed_exceptions,
        "src/a.py",
        "for x in y:\n  try:\n    f()\n  except (ValueError, Exception):\n    continue\n",
    ),
    (
        swallowed_exceptions,
        "src/a.py",
        "import contextlib\nwith contextlib.suppress(BaseException):\n    f()\n",
    ),
    (sleeps, "src/a.py", "import time\ntime.sleep(1)\n"),
    (sleeps, "src/a.py", "import time as t\nwait = t.sleep\n"),
    (sleeps, "src/a.py", "from time import sleep\n"),
    (unpickling, "src/a.py", "import pickle\n"),
    (unpickling, "benchmarks/a.py", "def f():\n    from pickle import loads\n"),
    (model_imports, "src/ramet/model/a.py", "import pydantic\n"),
    (model_imports, "src/ramet/model/a.py", "from ramet.store import Store\n"),
    (machine_traces, "docs/a.md", "see " + "/work" + "/main\n"),
    (machine_traces, ".ci/run", "cd '" + "/root" + "/x'\n"),
    (machine_traces, "requirements/a.lock", "--index-url https://pypi." + "org/simple\n"),
    (unknown_decisions, "src/a.py", '"""Why: docs/' + 'decisions/0001."""\n'),
    (unknown_decisions, "tests/a.py", "# As decision" + "\n# 1 says.\n"),
    (second_state_writers, "src/a.py", 'X = "UPDATE ramet_live SET state = ? WHERE seq = ?"\n'),
    (second_state_writers, "src/a.py", 'X = "update or ignore live as l\\n set fence = 1, state = ?"\n'),
    (
        second_state_writers,
        "src/a.py",
        'X = "WITH a AS (SELECT 1) INSERT INTO tasks (id, state) VALUES (?, ?)"\n',
    ),
    (second_state_writers, "src/a.py", 'X = "INSERT OR REPLACE INTO ramet_live VALUES (?, ?)"\n'),
    (second_state_writers, "src/a.py", 'X = f"INSERT INTO ramet_live ({COLUMNS}) VALUES (?)"\n'),
    (second_state_writers, "src/a.py", 'X = f"UPDATE {TABLE} SET " + "state = ?"\n'),
    (second_state_writers, "src/a.py", 'X = f"UPDATE ramet_tasks SET {pairs} WHERE id = ?"\n'),
    (second_state_writers, "src/a.py", 'X = " ".join(["UPDATE tasks", "SET", "state = ?"])\n'),
    (second_state_writers, "src/a.py", 'X = "UPDATE %s SET state = 1" % table\n'),
    (second_state_writers, "src/a.py", 'X = "UPDATE {t} SET state = 1".format(t=table)\n'),
    (second_state_writers, "src/ramet/store/sqlite/store.py", 'X = "COPY ramet_live (seq, state) FROM STDIN"\n'),
    (second_state_writers, "src/a.py", 'session.update("ramet_live", ("fence", "state"), ("seq",), rows)\n'),
    (second_state_writers, "src/a.py", 'session.update("ramet_live", ("fence",), ("seq", "state = ?"), rows)\n'),
    (second_state_writers, "src/a.py", 'self._session.update("tasks", ["state = \'failed\'"], KEY, rows)\n'),
    (second_state_writers, "src/a.py", 'X = ("a", "state")\nsession.update("ramet_tasks", X, ("seq",), rows)\n'),
    (second_state_writers, "src/a.py", 'session.update("ramet_tasks", COLUMNS, ("seq",), rows)\n'),
    (second_state_writers, "src/a.py", 'session.update("ramet_tasks", ("a", *COLUMNS), ("seq",), rows)\n'),
    (second_state_writers, "src/a.py", 'session.update(table, ("state",), ("seq",), rows)\n'),
    (second_state_writers, "src/a.py", 'session.update(table, columns, ("seq",), rows)\n'),
    (second_state_writers, "src/a.py", 'T = "ramet_live"\nsession.update(T, ("state",), ("seq",), rows)\n'),
    (
        second_state_writers,
        "src/a.py",
        'def f(x):\n  C = "state".split()\ndef g(session):\n  C = ("a",)\n  session.update("live", C, KEY, rows)\n',
    ),
    (second_state_writers, "src/a.py", 'session.insert("ramet_tasks", tuple("id state".split()), rows)\n'),
    (second_state_writers, "src/a.py", 'session.insert("ramet_live", LIVE_COLUMNS, rows)\n'),
    (second_state_writers, "src/a.py", 'session.insert("ramet_live", ("seq", f"{name}"), rows)\n'),
    (second_state_writers, "src/a.py", 'session.insert("ramet_live", ("seq",) + columns, rows)\n'),
    (second_state_writers, "src/a.py", 'session.insert(rows=rows, table="live", columns=("seq", "state"))\n'),
    (
        second_state_writers,
        "src/a.py",
        'session.insert("live", ("seq",), rows, key=("seq",), changes=("state = 1",))\n',
    ),
    (second_state_writers, "src/a.py", "session.update(*what, rows)\n"),
    (second_state_writers, "src/a.py", "session.insert_columns(tables, columns)\n"),
    (second_state_writers, "src/a.py", 'X = Update("ramet_live", ("state",), ("seq",))\n'),
    (second_state_writers, "src/a.py", 'X = session.Insert("ramet_live", Standing._fields)\n'),
    (possessive_groups, "src/a.py", 'X = re.compile(r"(?:-\\w++)' + '*+x")\n'),
    (possessive_groups, "src/a.py", 'X = re.compile(rf"(?:{A}|b)' + '++x")\n'),
    (possessive_groups, "src/a.py", 'X = r"(?P<plus>a)' + '{2,3}+"\n'),
    (
        second_state_writers,
        "src/ramet/store/2.sql",
        "CREATE TABLE a (b);\nUPDATE ONLY x.ramet_live SET state = 'failed';",
    ),
]
CHECKS = list(dict.fromkeys(check for check, _, _ in BAD))

GOOD: list[tuple[Check, str, str]] = [
    (too_long, "src/a.py", "x = 1\n" * 600),
    (too_long, "src/a.py", "def f():\n" + "    x = 1\n" * 59),
    (swallowed_exceptions, "src/a.py", "try:\n    f()\nexcept Exception:\n    log()\n    raise\n"),
    (swallowed_exceptions, "src/a.py", "try:\n    f()\nexcept KeyError:\n    pass\n"),
    (sleeps, "src/a.py", "import asyncio, time\nasyncio.sleep(1)\ntime.monotonic()\n"),
    (model_imports, "src/ramet/model/a.py", "import json\nimport idna\nfrom ramet.model.task.task import Task\n"),
    (machine_traces, "docs/a.md", "http://example.com" + "/work" + "/1 and a/" + "root/b\n"),
    (unknown_decisions, "src/a.py", "# A decision is the model's; so are 2 decisions.\n"),
    (possessive_groups, "src/a.py", 'X = re.compile(r"(?>(?:-\\w++)*)[()*+]*+\\)++")\n'),
    (
        second_state_writers,
        "src/ramet/store/state/apply.py",
        'X = "UPDATE ramet_live SET state = ? WHERE seq = ?"\n',
    ),
    (second_state_writers, "src/a.py", '"""Only apply may UPDATE tasks SET state."""\n'),
    (
        second_state_writers,
        "src/a.py",
        'X = "UPDATE ramet_live SET lease_until = ? WHERE fence IN ({marks})"\n',
    ),
    (second_state_writers, "src/a.py", 'X = "UPDATE ramet_lineages SET state = ? WHERE tracking_id = ?"\n'),
    (
        second_state_writers,
        "src/a.py",
        'X = "SELECT state FROM ramet_live WHERE seq = ? FOR UPDATE SKIP LOCKED"\n',
    ),
    (second_state_writers, "src/a.py", 'X = "INSERT INTO ramet_tasks (id, pipeline_state) VALUES (?, ?)"\n'),
    (
        second_state_writers,
        "src/ramet/store/state/apply.py",
        'session.update("ramet_live", ("state",), ("seq",), rows)\n',
    ),
    (second_state_writers, "src/a.py", 'session.update("ramet_live", ("fence", "turn = ?"), ("seq",), rows)\n'),
    (second_state_writers, "src/a.py", 'session.update("ramet_lineages", COLUMNS, ("tracking_id",), rows)\n'),
    (second_state_writers, "src/a.py", 'session.insert(table, ("name", "declared"), rows, changes=("declared",))\n'),
    (second_state_writers, "src/a.py", 'X = "id kind".split()\nsession.insert("ramet_tasks", X, rows)\n'),
    (second_state_writers, "src/a.py", 'states.update(state)\nstates.insert(0, "state")\nd.update(a=1, state=2)\n'),
    (
        second_state_writers,
        "src/a.py",
        'X = "SELECT state FROM ramet_live; UPDATE ramet_live SET fence = 1"\n',
    ),
]


def write_sample(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_project_is_tidy(check: Check) -> None:
    assert python_files(PROJECT, "src"), "there is nothing to look at: has the layout changed?"
    assert list(check(PROJECT)) == []


@pytest.mark.parametrize(("check", "name", "text"), BAD, ids=[f"{c.__name__}-{i}" for i, (c, _, _) in enumerate(BAD)])
def test_each_check_finds_a_bad_sample(check: Check, name: str, text: str, tmp_path: Path) -> None:
    write_sample(tmp_path, name, text)
    assert list(check(tmp_path)) != []


@pytest.mark.parametrize(("check", "name", "text"), GOOD, ids=[f"{c.__name__}-{i}" for i, (c, _, _) in enumerate(GOOD)])
def test_no_check_refuses_a_good_sample(check: Check, name: str, text: str, tmp_path: Path) -> None:
    write_sample(tmp_path, name, text)
    assert list(check(tmp_path)) == []


def test_a_decision_that_exists_may_be_named(tmp_path: Path) -> None:
    write_sample(tmp_path, "docs/decisions/0001-a.md", "# 1. A\n")
    write_sample(tmp_path, "src/a.py", '"""Why: docs/' + "decisions/0001, and decision" + ' 1."""\n')
    assert list(unknown_decisions(tmp_path)) == []


def test_the_state_writer_would_be_found_anywhere_else(tmp_path: Path) -> None:
    write_sample(tmp_path, "src/ramet/store/twin.py", (PROJECT / STATE_WRITER).read_text(encoding="utf-8"))
    assert len(list(second_state_writers(tmp_path))) > 1


def test_every_exception_has_a_reason_and_is_still_needed() -> None:
    over = {name for name, lines, most in lengths(PROJECT) if lines > most}
    assert all(reason.strip() for reason in [*LONG.values(), *SLEEPS.values()])
    assert set(LONG) <= over
    assert all((PROJECT / name).is_file() for name in SLEEPS)
