"""What servers do that a client would rather not meet, for :meth:`World.behave`."""

from __future__ import annotations

import asyncio
import gzip
import json

from tests.jobs.world.messages import HTML, JSON, Asked, Line, Play, Reply, html

BLOCK = b"x" * 65_536


def busy(seconds: float | str | None = None, status: int = 429) -> Reply:
    """Come back later; in so many seconds, at that date, or nobody knows when."""
    return html("Too many requests", status, Retry_After="" if seconds is None else str(seconds))


def trouble(status: int = 500) -> Reply:
    """An error of the server's own."""
    return html("Something went wrong", status)


def redirect(to: str, status: int = 302) -> Reply:
    """Go elsewhere."""
    return html("", status, Location=to)


def wrong_json(body: str = '{"ok": true}') -> Reply:
    """JSON of another shape than anybody expects."""
    return Reply(body.encode(), media_type=JSON)


def empty_jsonld(title: str = "Engineer") -> Reply:
    """A page with an empty script, a broken one, and then one that says something."""
    scripts = ["", "{not json", json.dumps({"@type": "JobPosting", "title": title})]
    tags = "".join(f'<script type="application/ld+json">{text}</script>' for text in scripts)
    return html(f"<!doctype html><html><head><title>{title}</title>{tags}</head><body><h1>{title}</h1></body></html>")


def bomb(megabytes: int = 50) -> Reply:
    """So many megabytes of blanks, packed into a thousandth of that."""
    return Reply(gzip.compress(b" " * 1_000_000 * megabytes), media_type=HTML, headers={"Content-Encoding": "gzip"})


def huge(megabytes: int = 50) -> Play:
    """So many megabytes, as long as the client listens."""

    async def play(_: Asked, line: Line) -> None:
        await line.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (megabytes << 20))
        for _block in range(megabytes * 16):
            await line.send(BLOCK)

    return play


def hang() -> Play:
    """Say nothing until :meth:`World.release`."""

    async def play(_: Asked, line: Line) -> None:
        await line.released.wait()

    return play


def drip(seconds: float = 0.02) -> Play:
    """One byte after the other, without end."""

    async def play(_: Asked, line: Line) -> None:
        await line.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000\r\n\r\n")
        while not line.released.is_set():
            await line.send(b"x")
            await asyncio.sleep(seconds)

    return play


def cut_off() -> Play:
    """Less than was promised."""

    async def play(_: Asked, line: Line) -> None:
        await line.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<html>")

    return play


def garbled() -> Play:
    """No HTTP."""

    async def play(_: Asked, line: Line) -> None:
        await line.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")

    return play
