"""Runs ``ramet`` for a shell without starting an interpreter each time.

``serve`` has everything imported, and forks for each command; the forked process gets the folder, the environment and
the files of who asked. ``ask``, which imports next to nothing, is what the shell runs.
"""

from __future__ import annotations

import json
import os
import socket
import sys

BYTES_MAX = 1 << 20


def ask(place: str, words: list[str]) -> int:
    """Have a command run; its exit status."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.connect(place)
        told = json.dumps({"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}).encode()
        socket.send_fds(server, [len(told).to_bytes(4, "big")], [0, 1, 2])
        server.sendall(told)
        return int(server.recv(16).decode() or "70")


def serve(place: str) -> None:
    """Answer until standard input ends: who started this went away."""
    import ramet.jobs.commands.group
    import ramet.llm.commands.group
    import ramet.wiki.commands.group  # noqa: F401 - what the commands would import one by one
    from ramet.cli import main

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(place)
        server.listen()
        os.write(1, b"ready\n")
        watcher = os.fork()
        if watcher == 0:
            sys.stdin.read()
            os.kill(os.getppid(), 15)
            os._exit(0)
        while True:
            asked, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _answer(asked, main)
            asked.close()
            _reap()


def _reap() -> None:
    """Let go of those that have ended."""
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if ended == 0:
            return


def _answer(asked: socket.socket, main: object) -> None:
    """In the forked process: be the command, then say how it ended."""
    length, files, _, _ = socket.recv_fds(asked, 4, 3)
    told = b""
    while len(told) < int.from_bytes(length, "big"):
        told += asked.recv(BYTES_MAX)
    wanted = json.loads(told)
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - for as long as this lives
    del sys.path[0]  # The folder of this file, where the programs of a page are not.
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    status = 1
    try:
        main(wanted["words"])  # type: ignore[operator]
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        asked.sendall(str(status).encode())
        os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[2], sys.argv[3:]))
