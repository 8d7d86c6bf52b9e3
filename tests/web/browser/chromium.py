"""A real headless Chromium that looks at a dashboard served on loopback, by a real server in this process."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
import uvicorn
from playwright.async_api import Browser, Page, Request, async_playwright
from starlette.types import ASGIApp

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "no Chromium on this machine (Debian: chromium)"
IN_CHROMIUM = [pytest.mark.skipif(PROGRAM is None, reason=MISSING), pytest.mark.asyncio(loop_scope="session")]
"""For the ``pytestmark`` of tests that take the fixture ``chromium``: they run in the loop that it lives in."""
# As root it has no sandbox; the others keep it from calling home.
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
WIDE = (1400, 900)
NARROW = (390, 844)


class Visit(NamedTuple):
    """A page in a browser, and everything that went wrong in it."""

    page: Page
    origin: str
    """Where the dashboard is: ``http://127.0.0.1:port``."""
    faults: list[str]
    """Errors of scripts, refusals of the content policy, requests that failed, dialogs that opened."""


@asynccontextmanager
async def served(application: ASGIApp) -> AsyncIterator[str]:
    """The origin of an application that a server on loopback serves."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, log_level="error", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """A Chromium of its own."""
    async with async_playwright() as driver:
        chromium = await driver.chromium.launch(executable_path=PROGRAM, args=[*ARGUMENTS])
        try:
            yield chromium
        finally:
            await chromium.close()


def _failed(request: Request) -> bool:
    """True unless the browser itself gave it up, because its page was left."""
    return "ERR_ABORTED" not in (request.failure or "")


@asynccontextmanager
async def visit(
    chromium: Browser,
    origin: str,
    *,
    dark: bool = False,
    size: tuple[int, int] = WIDE,
    script: bool = True,
    headers: dict[str, str] | None = None,
) -> AsyncIterator[Visit]:
    """A fresh visitor with nothing stored."""
    context = await chromium.new_context(
        color_scheme="dark" if dark else "light",
        viewport={"width": size[0], "height": size[1]},
        java_script_enabled=script,
        extra_http_headers=headers,
        timezone_id="Europe/Berlin",
        locale="en-GB",
    )
    page = await context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}") if _failed(request) else None)

    async def dismiss(dialog: object) -> None:
        faults.append(f"dialog: {dialog}")
        await dialog.dismiss()  # type: ignore[attr-defined]

    page.on("dialog", dismiss)
    try:
        yield Visit(page, origin, faults)
    finally:
        await context.close()
