"""A case whose marks do not name what decides its target fails, whatever it asserts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gate.running import run_pytest

CASES = """
import os
import socket
import subprocess
import sys

import pytest

from tests.gate.needs import uses

def starts():
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)

def listens():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))

def forks():
    if os.fork() == 0:
        os._exit(0)
    os.wait()

USES = {"process": starts, "network": listens, "server": lambda: uses("server", "a server"), "fork": forks}

@pytest.fixture
def used_in_setup():
    starts()

"""
MARKED = [
    '@pytest.mark.process\ndef test_it(): USES["process"]()',
    '@pytest.mark.process\ndef test_it(): USES["fork"]()',
    '@pytest.mark.network\ndef test_it(): USES["network"]()',
    '@pytest.mark.server\ndef test_it(): USES["server"]()',
    "@pytest.mark.process\ndef test_it(used_in_setup): pass",
    'def test_it(tmp_path):\n    with socket.socket(socket.AF_UNIX) as near: near.bind(str(tmp_path / "s"))',
]


FOLDER = "wiki"
"""Where each of these marks decides the target."""


@pytest.mark.process
def test_what_decides_the_target_is_used_only_with_its_mark(tmp_path: Path) -> None:
    files = {}
    for number, case in enumerate(MARKED):
        files[f"{FOLDER}/test_marked_{number}.py"] = CASES + case
        if case.startswith("@"):
            without = CASES + case.partition("\n")[2]
            files |= {f"{FOLDER}/test_without_{number}.py": without, f"web/test_whole_{number}.py": without}
    code, told = run_pytest(tmp_path, files, COLUMNS="300")
    assert code == 1, told
    errors = sorted(line for line in told.splitlines() if line.startswith("ERROR "))
    assert [(line.split("::")[0].rpartition("/")[2], line.rpartition(": add the mark ")[2]) for line in errors] == [
        (f"test_without_{number}.py", mark)
        for number, mark in enumerate(["process", "process", "network", "server", "process"])
    ], told
