"""The layout of the source, held by rules: sizes of folders and files, who imports whom, names of files.

As in ``test_tidy``, every check runs on this project, where it must find nothing, and on samples, where it must
find something: a check that has gone blind fails as well.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
FILES_PER_FOLDER_MAX = 25
LINES_PER_FILE_MIN = 60
SINGLE_IMPORTER_SHARE_MAX = 0.12

SHORT: dict[str, str] = {
    "src/pytest_ramet.py": "pytest finds it by its entry point, and imports nothing else of ramet",
    "src/ramet/commands/errors.py": "every package's errors derive from it, and it must import neither click nor rich",
    "src/ramet/fetch/settings.py": "a leaf that fetcher and pace of a host both read",
    "src/ramet/jobs/errors.py": "a leaf below every module of the product",
    "src/ramet/jobs/pipeline.py": "the app that `ramet worker` is given by name",
    "src/ramet/llm/commands/group.py": "an entry point of the package",
    "src/ramet/llm/commands/options.py": "options that the commands of the group share",
    "src/ramet/llm/pipeline.py": "the app that `ramet worker` is given by name",
    "src/ramet/model/tracing.py": "pure, and three layers use it",
    "src/ramet/store/loggers.py": "the one way to a logger for every layer",
    "src/ramet/store/rows/blobs.py": "a table of its own, written by two verbs that may not import each other",
    "src/ramet/wiki/embedding/multilingual.py": "a model of a package of its own, as each embedder has a file",
    "src/ramet/store/verbs/reclaim.py": "three verbs use it that may not import each other",
    "src/ramet/telemetry/serving.py": "an entry point of the package",
    "src/ramet/testing/plugin.py": "a `conftest.py` names it",
    "src/ramet/testing/postgres_server/guard.py": "a program of its own",
    "src/ramet/web/views/costs.py": "a subject of the dashboard that is small",
    "src/ramet/wiki/pipeline.py": "the app that `ramet worker` is given by name",
}
"""File under src, shorter than the least -> the reason. An entry that is no longer needed fails."""

REGISTERED = (
    "cli", "web/views", "jobs/commands", "llm/commands", "wiki/commands",  # commands and routes
    "jobs/tasks", "llm/providers", "wiki/embedding", "wiki/graphs", "wiki/sources",  # kinds, providers, stores, sources
    "store/sqlite", "store/postgres", "store/schema",  # parts of a dialect, groups of tables
)  # fmt: skip
"""Folders whose files a registry names. One importer each is their nature."""
REGISTRIES = {"ramet.store.store"}
"""Modules that are a table of the functions of others: the Store has a line for each verb."""

_ENGINE = "ramet.engine"
CIRCLES: dict[frozenset[str], str] = {
    frozenset(
        {f"{_ENGINE}.client.claim", f"{_ENGINE}.client.client", f"{_ENGINE}.client.pull", f"{_ENGINE}.context.context"}
    ): "a type alone: a handler's `ctx.client` is a client, whose claims are contexts",
}
"""Modules that may import each other -> the reason."""

RIDDLES = {
    "acting", "alone", "beyond", "errands", "ending", "floors", "gathered", "helpers", "hindrance", "holds", "in_hand",
    "keeping", "kept", "looking", "looks", "manager", "mending", "misc", "noticing", "persons", "reach",
    "shared", "showing", "switching", "taking", "utils",
}  # fmt: skip
"""Names from which a stranger cannot guess the content of a file."""

Check = Callable[[Path], Iterator[str]]


def source_files(root: Path) -> list[Path]:
    return sorted((root / "src").rglob("*.py"))


def entry_point(path: Path) -> bool:
    return path.name in ("__init__.py", "__main__.py")


def crowded_folders(root: Path) -> Iterator[str]:
    for tree in ("src", "tests", "benchmarks"):
        count: dict[Path, int] = defaultdict(int)
        for path in (root / tree).rglob("*.py"):
            count[path.parent] += 1
        for folder, files in sorted(count.items()):
            if files > FILES_PER_FOLDER_MAX:
                yield f"{folder.relative_to(root)}: {files} files, more than {FILES_PER_FOLDER_MAX}: divide it"


def short_files(root: Path) -> Iterator[str]:
    for path in source_files(root):
        name = path.relative_to(root).as_posix()
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines < LINES_PER_FILE_MIN and not entry_point(path) and name not in SHORT:
            yield f"{name}: {lines} lines, fewer than {LINES_PER_FILE_MIN}: join it to its subject, or give a reason"


def riddles(root: Path) -> Iterator[str]:
    for path in source_files(root):
        if path.stem in RIDDLES:
            yield f"{path.relative_to(root)}: a name from which nobody guesses the content: use the field's noun"


def modules(root: Path) -> dict[str, Path]:
    found = {}
    for path in source_files(root):
        parts = list(path.relative_to(root / "src").with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.Module, known: Mapping[str, Path], *, types: bool) -> set[str]:
    """The modules of the project that one imports, late imports included; without ``types``, what runs only."""
    only_types: set[int] = set()
    for node in ast.walk(tree):
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            only_types |= {id(inner) for inner in ast.walk(node)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & known.keys() or {node.module}
    return found & known.keys()


def graph(root: Path, *, types: bool) -> dict[str, set[str]]:
    known = modules(root)
    return {
        name: imported(ast.parse(path.read_text(encoding="utf-8")), known, types=types) - {name}
        for name, path in known.items()
    }


def circles(root: Path) -> Iterator[str]:
    """Groups of modules that reach each other, type-only and late imports included."""
    edges = graph(root, types=True)
    reached = {name: reachable(name, edges) for name in edges}
    groups = {
        frozenset({name, *(other for other in reached[name] if name in reached[other])})
        for name in edges
        if any(name in reached[other] for other in reached[name])
    }
    for group in sorted(groups - CIRCLES.keys(), key=sorted):
        yield f"{', '.join(sorted(group))}: these import each other"


def reachable(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*edges[start]]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(edges.get(name, ()))
    return found


def single_importers(root: Path) -> Iterator[str]:
    """Files that exactly one other imports are counted: more than a few, and the house is made of satellites."""
    known = modules(root)
    importers: dict[str, set[str]] = defaultdict(set)
    for name, others in graph(root, types=False).items():
        if known[name].name != "__init__.py" and name not in REGISTRIES:
            for other in others:
                importers[other].add(name)
    plain = {name: path for name, path in known.items() if not entry_point(path)}
    single = [
        name
        for name, path in plain.items()
        if len(importers[name]) == 1
        and path.parent.relative_to(root / "src").as_posix().removeprefix("ramet/") not in REGISTERED
    ]
    if len(single) > SINGLE_IMPORTER_SHARE_MAX * len(plain):
        yield f"{len(single)} of {len(plain)} files are imported by exactly one other: {', '.join(sorted(single))}"


def package(*names: str) -> dict[str, str]:
    """Files of a sample, each of which says nothing."""
    return {f"src/ramet/{name}.py": "x = 1\n" * LINES_PER_FILE_MIN for name in names}


BAD: list[tuple[Check, dict[str, str]]] = [
    (crowded_folders, package(*(f"a{number}" for number in range(26)))),
    (crowded_folders, {f"tests/a/test_{number}.py": "" for number in range(26)}),
    (short_files, {"src/ramet/a.py": "x = 1\n" * 59}),
    (riddles, {"src/ramet/store/beyond.py": ""}),
    (circles, {"src/ramet/a.py": "import ramet.b\n", "src/ramet/b.py": "def f():\n    from ramet import a\n"}),
    (
        circles,
        {
            "src/ramet/a.py": "from ramet.b import f\n",
            "src/ramet/b.py": "from ramet.c import g\n",
            "src/ramet/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ramet.a import h\n",
        },
    ),
    (single_importers, {"src/ramet/a.py": "from ramet import b\n", "src/ramet/b.py": "\n"}),
]
GOOD: list[tuple[Check, dict[str, str]]] = [
    (crowded_folders, package(*(f"a{number}" for number in range(25)))),
    (short_files, {"src/ramet/a.py": "x = 1\n" * 60, "src/ramet/b/__init__.py": ""}),
    (riddles, {"src/ramet/store/session.py": ""}),
    (circles, {"src/ramet/a.py": "from ramet import b\n", "src/ramet/b.py": "import ramet.c\n", "src/ramet/c.py": ""}),
    (
        single_importers,
        {"src/ramet/a.py": "from ramet import b\n", "src/ramet/b.py": "", "src/ramet/c.py": "import ramet.b\n"},
    ),
    (single_importers, {"src/ramet/__init__.py": "from ramet import b\n", "src/ramet/b.py": ""}),
]
CHECKS: Sequence[Check] = list(dict.fromkeys(check for check, _ in BAD))


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_layout_keeps_its_rules(check: Check) -> None:
    assert len(source_files(PROJECT)) > 100, "there is nothing to look at: has the layout changed?"
    assert list(check(PROJECT)) == []


@pytest.mark.parametrize(("check", "files"), BAD, ids=[f"{c.__name__}-{i}" for i, (c, _) in enumerate(BAD)])
def test_each_rule_finds_a_bad_sample(check: Check, files: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, files)
    assert list(check(tmp_path)) != []


@pytest.mark.parametrize(("check", "files"), GOOD, ids=[f"{c.__name__}-{i}" for i, (c, _) in enumerate(GOOD)])
def test_no_rule_refuses_a_good_sample(check: Check, files: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, files)
    assert list(check(tmp_path)) == []


def test_every_exception_of_the_layout_has_a_reason_and_is_needed() -> None:
    assert all(reason.strip() for reason in [*SHORT.values(), *CIRCLES.values()])
    lines = {name: len((PROJECT / name).read_text(encoding="utf-8").splitlines()) for name in SHORT}
    assert [name for name, count in lines.items() if count >= LINES_PER_FILE_MIN] == []
    edges = graph(PROJECT, types=True)
    assert all(other in reachable(name, edges) for group in CIRCLES for name in group for other in group)
