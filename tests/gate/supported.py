"""Runs tests on the oldest and newest of what is supported (``make test-supported``).

- the conformance suite on the oldest PostgreSQL (Debian: postgresql-15); every other target uses the newest;
- the conformance suite on the oldest SQLite, compiled from the source that an npm package contains;
- the model, the readers of text, imports and the public API on the oldest and the newest Python on this machine;
  patches count: Debian 12 has 3.11.2, whose regular expressions have faults that later ones have not.

A part that this machine cannot run is named, and fails the run in CI (``CI=true``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ramet.store.sqlite.session import SQLITE_VERSION_MIN
from tests.postgres.servers import PROGRAMS

PROJECT = Path(__file__).parents[2]
WORK = PROJECT / ".venv" / "supported"
"""What is built for this run, kept for the next one."""

POSTGRES_MIN = 15
POSTGRES_PROGRAMS = f"/usr/lib/postgresql/{POSTGRES_MIN}/bin"
SQLITE_SOURCE = "better-sqlite3@7.4.6"
"""The npm package whose source is SQLite 3.37.0."""
SQLITE_OPTIONS = "JSON1 MATH_FUNCTIONS COLUMN_METADATA LOAD_EXTENSION FTS5 RTREE".split()
PYTHON_NAMES = [f"python3.{minor}" for minor in range(11, 20)]
PYTHON_TESTS = (
    "tests/model",
    "tests/importing",
    "tests/project/test_public_api.py",
    "tests/wiki/wikitext",
    "tests/jobs/text",
)


class Missing(Exception):
    """This machine lacks what a part needs; the text says what to install."""


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(*command: str | Path, more: Mapping[str, str] | None = None, cwd: Path = PROJECT) -> bool:
    """Run a command; whether it succeeded."""
    environment = {**os.environ, **(more or {})}
    return subprocess.run(list(map(str, command)), cwd=cwd, env=environment, check=False).returncode == 0


def run_tests(python: str | Path, *arguments: str, more: Mapping[str, str] | None = None) -> bool:
    """Run tests in as many processes as ``make test`` does; whether all passed."""
    command = (python, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", *arguments)
    return run(*command, more={"PYTHONDONTWRITEBYTECODE": "", **(more or {})})


def on_the_oldest_postgres() -> bool:
    """The conformance suite, and jobs of llm to their ends, on the oldest PostgreSQL.

    Raises:
        Missing: its programs are not installed.
    """
    if not Path(POSTGRES_PROGRAMS, "postgres").exists():
        raise Missing(f"PostgreSQL {POSTGRES_MIN} is not installed (Debian: postgresql-{POSTGRES_MIN})")
    more = {PROGRAMS: POSTGRES_PROGRAMS}
    # The ends of lineages run statements that nothing else does: jobs have one each.
    return run_tests(
        sys.executable, "--target", "postgres", "tests/conformance", "tests/paths", more=more
    ) and run_tests(sys.executable, "--target", "llm", "tests/llm/running", more=more)


def oldest_sqlite() -> Path:
    """The folder of a shared library of the oldest SQLite, compiled when it is first wanted.

    Raises:
        Missing: npm or gcc is not installed, or npm cannot be reached.
    """
    folder = WORK / SQLITE_SOURCE
    library = folder / "libsqlite3.so.0"
    if library.exists():
        return folder
    for program in ("npm", "gcc"):
        if shutil.which(program) is None:
            raise Missing(f"{program} is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    if not run("npm", "pack", "--silent", SQLITE_SOURCE, cwd=folder):
        raise Missing(f"npm cannot download {SQLITE_SOURCE}")
    for archive, member in (("*.tgz", "package/deps/sqlite3.tar.gz"), ("sqlite3.tar.gz", "sqlite3.c")):
        [packed] = folder.glob(archive)
        with tarfile.open(packed) as members:
            # Python before 3.11.4 knows no filters; npm has checked the archive, and one member of it is taken.
            found = members.extractfile(member)
            assert found is not None, f"{packed} has no file {member}"
            with (folder / Path(member).name).open("wb") as file:
                shutil.copyfileobj(found, file)
    options = [f"-DSQLITE_ENABLE_{name}" for name in SQLITE_OPTIONS]
    compiled = run(
        "gcc", "-O1", "-shared", "-fPIC", "-w", *options, "sqlite3.c", "-o", "library", "-lpthread", "-ldl", "-lm",
        cwd=folder,
    )  # fmt: skip
    if not compiled:
        raise Missing("gcc cannot compile SQLite (Debian: gcc, libc6-dev)")
    (folder / "library").rename(library)
    return folder


def on_the_oldest_sqlite() -> bool:
    """The conformance suite on the oldest SQLite.

    Raises:
        Missing: it cannot be made, or this Python has SQLite built in.
    """
    more = {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, [str(oldest_sqlite()), os.environ.get("LD_LIBRARY_PATH")]))}
    code = f"import sqlite3, sys; sys.exit(sqlite3.sqlite_version_info != {SQLITE_VERSION_MIN})"
    if not run(sys.executable, "-c", code, more=more):
        raise Missing(f"this Python cannot be given SQLite {'.'.join(map(str, SQLITE_VERSION_MIN))}")
    return run_tests(sys.executable, "--target", "test", "tests/conformance", "tests/paths", more=more)


def pythons() -> dict[tuple[int, ...], str]:
    """Version to interpreter, of all on this machine that are new enough."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    if shutil.which("pyenv"):
        told = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=True).stdout.strip()
        folders += sorted(Path(told, "versions").glob("*/bin"))
    found: dict[tuple[int, ...], str] = {}
    code = "import sys, venv, sqlite3; print(*sys.version_info[:3])"
    for program in (folder / name for name in PYTHON_NAMES for folder in folders if (folder / name).exists()):
        told = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False).stdout
        if told:
            found.setdefault(tuple(map(int, told.split())), str(program))
    return found


def on_python(program: str, name: str) -> bool:
    """The model, the readers of text, imports and the public API on another Python.

    Raises:
        Missing: its environment cannot be made.
    """
    folder = WORK / name
    python, lock = folder / "bin" / "python", PROJECT / "requirements" / "test.lock"
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
    made = python.exists() or run(program, "-m", "venv", folder)
    if not (made and run(python, *pip, "-r", lock) and run(python, *pip, "--no-deps", "-e", PROJECT)):
        raise Missing(f"cannot install {lock.name} for {name}")
    return run_tests(python, "--target", "test", "-p", "no:cacheprovider", *PYTHON_TESTS)


def parts() -> Iterator[tuple[str, bool | Missing]]:
    """Run each part: its name, and whether it passed or why it could not run."""
    for name, part in (
        (f"PostgreSQL {POSTGRES_MIN}", on_the_oldest_postgres),
        (f"SQLite {'.'.join(map(str, SQLITE_VERSION_MIN))}", on_the_oldest_sqlite),
    ):
        say(f"== {name}")
        try:
            yield name, part()
        except Missing as missing:
            yield name, missing
    known = pythons()
    for version in sorted({min(known), max(known)} - {sys.version_info[:3]}):
        name = f"Python {'.'.join(map(str, version))}"
        say(f"== {name}")
        try:
            yield name, on_python(known[version], name.replace(" ", ""))
        except Missing as missing:
            yield name, missing


def main() -> int:
    """Run every part; the exit code."""
    code = 0
    told = []
    for name, outcome in parts():
        if outcome is True:
            told.append(f"{name}: passed")
            continue
        told.append(f"{name}: {outcome or 'FAILED'}")
        if outcome is False or os.environ.get("CI") == "true":
            code = 1
    say("\n".join(told))
    return code


if __name__ == "__main__":
    sys.exit(main())
