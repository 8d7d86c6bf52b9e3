"""Pages and answers of boards, fetched from tasks: at the host's pace, within the settings, from no stopped host."""

from __future__ import annotations

from collections.abc import Mapping

from ramet import Context
from ramet.fetch.errors import Refused
from ramet.fetch.messages import Request, Response
from ramet.jobs.app import hosts
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.matching.stop_list import stopped_host
from ramet.jobs.settings import JobsSettings

NO_PAGES = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/octet-stream")
"""How the media types begin of what has no text to read."""


def reads_html(instruction: Instruction) -> bool:
    """Whether the list is on a page for people."""
    return instruction.type in ("html", "jsonld") or instruction.embedded is not None


def content_type(answer: Response) -> str:
    """The media type with its parameters: the encoding may be named there alone."""
    return answer.headers.get("content-type", "")


async def page(ctx: Context, url: str, settings: JobsSettings) -> Response:
    """A page that people read; robots.txt is kept to.

    Raises:
        Refused, Gone, TooLarge, Trouble: see :mod:`ramet.fetch.errors`.
        RetryAfter: the server named its time, or it is not our turn.
    """
    answer = await _asked(ctx, Request(url), settings, settings.fetch.page_bytes_max, None, robots=True)
    if answer.media_type.startswith(NO_PAGES):
        raise Refused(f"{url[:200]} is no page but {answer.media_type[:60]}")
    return answer


async def board(
    ctx: Context, request: Request, settings: JobsSettings, validators: Mapping[str, str] | None = None, *, html: bool
) -> Response:
    """An answer of a board's interface; with ``html`` it is one of its pages, for which robots.txt holds.

    Raises:
        Refused, Gone, TooLarge, Trouble: see :mod:`ramet.fetch.errors`.
        RetryAfter: the server named its time, or it is not our turn.
    """
    return await _asked(ctx, request, settings, settings.fetch.list_bytes_max, validators, robots=html)


async def _asked(
    ctx: Context,
    request: Request,
    settings: JobsSettings,
    bytes_max: int,
    validators: Mapping[str, str] | None,
    *,
    robots: bool,
) -> Response:
    def judge(url: str) -> None:
        refused = stopped_host(url, settings.stop)
        if refused is not None:
            raise Refused(refused, url=url)

    judge(request.url)
    return await hosts.ask(
        ctx, request, settings.fetch, bytes_max=bytes_max, validators=validators, robots=robots, judge=judge
    )
