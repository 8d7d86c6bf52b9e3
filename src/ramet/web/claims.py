"""Claims of programs that work over HTTP: how a request names one, and what a refusal says.

The server keeps nothing of a claim between two requests: the name that the claim's answer gave says all of it, so that
any number of servers can stand before one database, and a restart loses no claim.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, TypeVar

from pydantic import StringConstraints
from starlette.requests import Request

from ramet import Claim, ClaimLost, Client
from ramet.engine.client.claim import ClaimId
from ramet.engine.client.pull import ClaimFate
from ramet.web.actions.action import guarded
from ramet.web.page import BadInput, dashboard_of

LEASE_SECONDS_MAX = 3_600
_HANDLE = r"^[1-9][0-9]{0,17}-[1-9][0-9]{0,17}-[1-9][0-9]{0,3}$"
Handle = Annotated[str, StringConstraints(pattern=_HANDLE, max_length=60)]
"""``SEQ-FENCE-LEASE``: number of the task, fence, and lease in seconds. Opaque to clients."""
_HANDLE_EXPRESSION = re.compile(_HANDLE)

Answer = TypeVar("Answer")


class ClaimOver(BadInput):
    """The claim is not current any more. Answered with 409 and a code."""

    def __init__(self, fate: ClaimFate, line: str | None = None) -> None:
        super().__init__(line or fate.message)
        self.code = over_code(fate)


def over_code(fate: ClaimFate) -> str:
    """Return the code for a claim that is over: ``claim_settled`` where its own worker settled it before."""
    return "claim_settled" if fate.settled else "claim_lost"


def handle_of(claim: Claim) -> str:
    """Return how requests name this claim."""
    seq, fence = claim.pair
    return f"{seq}-{fence}-{claim.lease_seconds:.0f}"


def pair_of(handle: str) -> ClaimId:
    """Return the claim's task number and fence."""
    seq, fence, _ = handle.split("-")
    return int(seq), int(fence)


def lease_of(handle: str) -> float:
    """Return what the claim's heartbeats extend its lease to, in seconds."""
    return min(float(handle.split("-")[2]), LEASE_SECONDS_MAX)


async def resumed(client: Client, handle: str) -> Claim:
    """Return the claim with this name.

    Raises:
        ClaimOver: it is not current.
    """
    [found] = await client.resume_claims([pair_of(handle)], lease_seconds=lease_of(handle))
    if isinstance(found, ClaimLost):
        await client.acknowledge([pair_of(handle)])
        raise ClaimOver(await client.claim_fate(*pair_of(handle)))
    return found


async def under_claim(client: Client, handle: str, asked: Awaitable[Answer]) -> Answer:
    """Return the answer to something that a claim asks for.

    Raises:
        ClaimOver: the claim is not current; nothing was done.
        BadInput: it cannot be done; one line says why.
    """
    try:
        return await guarded(asked)
    except ClaimLost as lost:
        raise ClaimOver(await client.claim_fate(*pair_of(handle)), one_refusal(lost)) from lost


def one_refusal(lost: ClaimLost) -> str:
    """Return the words of a refusal on one line."""
    return " ".join(str(lost).split())[:2_000]


def check_distinct(handles: Iterable[str]) -> None:
    """Refuse a batch that names a claim twice.

    Raises:
        BadInput: it does.
    """
    seen: set[ClaimId] = set()
    for handle in handles:
        if pair_of(handle) in seen:
            raise BadInput(f"claim {handle} is there twice: give each once")
        seen.add(pair_of(handle))


async def while_connected(
    request: Request, asked: Awaitable[Answer], hand_back: Callable[[Answer], Awaitable[None]] | None = None
) -> Answer | None:
    """Wait for an answer; None when the client has gone before, or the server stops.

    Args:
        request: of the client that waits.
        asked: is cancelled when it is not waited for any more.
        hand_back: takes the answer that came when the client had gone.
    """
    asking = asyncio.ensure_future(asked)
    gone = asyncio.ensure_future(_gone(request))
    stopping = asyncio.ensure_future(dashboard_of(request).feeds.closed.wait())
    try:
        await asyncio.wait({asking, gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            return None
        if gone.done() and hand_back is not None:
            await hand_back(asking.result())
            return None
        return asking.result()
    finally:
        for one in (asking, gone, stopping):
            one.cancel()
        await asyncio.gather(asking, gone, stopping, return_exceptions=True)


async def release(claims: Iterable[Claim]) -> None:
    """Hand claims back, which no client was given."""
    for claim in claims:
        await claim.release()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
