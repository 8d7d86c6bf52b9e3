"""A shell in a folder of its own, in which the commands of a page are typed one after the other."""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.docs.blocks import Wrong, is_shown
from tests.support.waiting import HANG_SECONDS

MARK = "\x1e"
TOLD_OF_JOBS = re.compile(r"^\[\d+\][+-]? +[A-Z][a-z]+ .*\n", flags=re.MULTILINE)
"""What the shell says when it notices that a job has ended."""
RAMET = """#!/bin/sh
case "$1 $2" in
  worker*|dashboard*|serve*|metrics*|postgres*|bench*|*" work"|*" run"|"wiki "*) exec {python} -m ramet.cli "$@" ;;
  *) exec {python} -S -E {zygote} ask {place} "$@" ;;
esac
"""


@contextmanager
def zygote(folder: Path) -> Iterator[Path]:
    """A folder with the program ``ramet``."""
    program, place = folder / "bin" / "ramet", folder / "zygote"
    program.parent.mkdir()
    file = Path(__file__).with_name("zygote.py")
    words = {"python": sys.executable, "zygote": file, "place": place}
    program.write_text(RAMET.format(**{name: shlex.quote(str(word)) for name, word in words.items()}))
    program.chmod(0o755)
    command = [sys.executable, str(file), "serve", str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        assert serving.stdout.readline() == "ready\n"
        try:
            yield program.parent
        finally:
            serving.terminate()


class Shell:
    """A shell that stays, so that what a command exports, starts or changes into holds for the next.

    Use it as a context manager; what it started in the background is ended with it.
    """

    def __init__(self, folder: Path, programs: Path, more: dict[str, str] | None = None) -> None:
        home = folder / ".home"
        home.mkdir(exist_ok=True)
        path = [str(programs), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        environment = {
            "HOME": str(home), "PATH": os.pathsep.join(path), "USER": "reader", "TERM": "dumb", "LANG": "C.UTF-8",
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"), "PYTHONDONTWRITEBYTECODE": "1", **(more or {}),
        }  # fmt: skip
        self.folder = folder
        self._logs: list[Path] = []
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], cwd=folder, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self._typed("set -m")  # Each job has a group of its own, and %1 names the first.

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(BrokenPipeError):
            _, jobs = self._typed("jobs -p")
            for job in map(int, jobs.split()):
                _end(job)
        assert self._bash.stdin is not None
        self._bash.stdin.close()
        try:
            self._bash.wait(HANG_SECONDS)
        finally:
            self._bash.kill()
            assert self._bash.stdout is not None
            self._bash.stdout.close()

    def run(self, command: str) -> tuple[int, str]:
        """Type a command and wait for its end: its exit status, and all that it wrote."""
        return self._typed(command)

    def start(self, command: str, shown: str) -> str:
        """Type a command that goes on, and wait until it wrote what is shown, or listens, or has ended."""
        log = self.folder / ".home" / f"background-{len(self._logs)}"
        self._logs.append(log)
        _, told = self._typed(f"{command.removesuffix('&')} >{shlex.quote(str(log))} 2>&1 & echo $!")
        pid, give_up_at = int(told.split()[-1]), time.monotonic() + HANG_SECONDS
        while time.monotonic() < give_up_at:
            written = log.read_text(encoding="utf-8") if log.exists() else ""
            if is_shown(f"{shown}...", written) if shown.strip() else (written or _listens(pid) or not _lives(pid)):
                return written
            if not _lives(pid):
                raise Wrong(f"{command}: ended, and wrote {written!r} instead of {shown!r}")
            time.sleep(0.02)
        raise TimeoutError(f"{command}: {log.read_text(encoding='utf-8')}")

    def _typed(self, command: str) -> tuple[int, str]:
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        # Nothing reads from the shell's own input; what comes after a command must not be taken for its input.
        words = f"{{ {command}\n}} </dev/null\nprintf '{MARK}%d{MARK}' $?\n"
        self._bash.stdin.write(words.encode())
        self._bash.stdin.flush()
        read, give_up_at = b"", time.monotonic() + HANG_SECONDS
        while read.count(MARK.encode()) < 2:
            ready, _, _ = select.select([self._bash.stdout], [], [], max(0.0, give_up_at - time.monotonic()))
            part = os.read(self._bash.stdout.fileno(), 65_536) if ready else b""
            if not part:
                os.killpg(self._bash.pid, signal.SIGKILL)
                raise TimeoutError(f"{command}: did not end; it wrote {read.decode(errors='replace')!r}")
            read += part
        written, status, _ = read.decode(errors="replace").split(MARK)
        return int(status), TOLD_OF_JOBS.sub("", written)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _listens(pid: int) -> bool:
    """Whether a process accepts connections, where the system tells."""
    try:
        files = [os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()]
        rows = [row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    except OSError:
        return False
    return any(row[3] == "0A" and f"socket:[{row[9]}]" in files for row in rows)


def _end(group: int) -> None:
    """End a job, by force when it does not listen."""
    give_up_at = time.monotonic() + 10.0
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
        while time.monotonic() < give_up_at:
            os.killpg(group, 0)
            time.sleep(0.02)
        os.killpg(group, signal.SIGKILL)
