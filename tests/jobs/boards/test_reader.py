"""Boards under their real hosts and paths: from an address that people share to all of their openings."""

from __future__ import annotations

import pytest

from ramet.fetch.errors import FetchError
from ramet.fetch.messages import Request, Response
from ramet.jobs.app import fetchers
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import detail_request, is_page, name_request, read_detail, read_list, read_name
from ramet.jobs.boards.vendor_rows import vendors
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.posting import Posting
from tests.jobs.boards.sample_boards import NOW
from tests.jobs.world.boards import Board
from tests.jobs.world.openings import Opening, made_up
from tests.jobs.world.world import World

pytestmark = pytest.mark.network

BYTES_MAX = 10_000_000
COUNTS = {
    "greenhouse": 25,
    "lever": 230,
    "ashby": 25,
    "smartrecruiters": 130,
    "workable": 25,
    "recruitee": 25,
    "personio": 25,
    "workday": 45,
    "teamtailor": 25,
    "breezy": 25,
    "bamboohr": 25,
    "jobvite": 25,
    "rss": 25,
}
"""Openings by kind; of those with pages, more than one page has."""


async def asked(request: Request, *, html: bool = False) -> Response:
    return await fetchers.here().fetch(request, bytes_max=BYTES_MAX, robots=html)


async def all_of(instruction: Instruction) -> list[Posting]:
    """Every posting that the board lists."""
    request: Request | None = first_request(instruction)
    found: list[Posting] = []
    digests: list[str] = []
    while request is not None:
        answer = await asked(request, html=instruction.type == "html")
        page = read_list(
            instruction,
            answer.body,
            request=request,
            page=len(digests) + 1,
            now=NOW,
            media_type=answer.headers.get("content-type", ""),
            before=digests,
        )
        found += page.postings
        digests.append(page.digest)
        request = page.next
    return found


async def whole(instruction: Instruction, posting: Posting) -> Posting:
    request = detail_request(instruction, posting)
    if request is None:
        return posting
    answer = await asked(request, html=is_page(instruction))
    return read_detail(instruction, posting, answer.body, url=answer.url, now=NOW)


async def name_of(instruction: Instruction) -> str | None:
    request = name_request(instruction)
    if request is None:
        return None
    try:
        return read_name(instruction, (await asked(request)).body)
    except FetchError:
        return None


def put_up(world: World, kind: str, openings: list[Opening]) -> Board:
    token = "https://careers.acme.example/jobs.rss" if kind == "rss" else "acme"
    return world.board(kind, token, openings, company="Acme")


@pytest.mark.parametrize("kind", COUNTS)
async def test_every_opening_of_a_board_is_found_from_its_address(world: World, kind: str) -> None:
    openings = made_up(COUNTS[kind])
    board = put_up(world, kind, openings)
    found = board_of_url(board.token if kind == "rss" else board.url)
    assert found is not None
    assert found.kind == kind
    instruction = instruction_for(found)
    postings = {posting.title: posting for posting in await all_of(instruction)}
    assert set(postings) == {opening.title for opening in openings}
    for opening in openings:
        assert opening.city in (postings[opening.title].location or "")
    for opening in openings[:3]:
        posting = await whole(instruction, postings[opening.title])
        assert "5+ years of experience with Python and PostgreSQL" in posting.description
        assert posting.posted_at is not None
        assert abs(posting.posted_at - opening.posted_at) < 86_400


@pytest.mark.parametrize("kind", sorted({*COUNTS} - {"workday"}))
async def test_every_board_tells_its_own_name(world: World, kind: str) -> None:
    board = put_up(world, kind, made_up(3))
    found = board_of_url(board.token if kind == "rss" else board.url)
    assert found is not None
    assert await name_of(instruction_for(found)) == "Acme"


async def test_openings_that_are_not_listed_are_not_read(world: World) -> None:
    hidden = Opening("9", "Not for everybody", listed=False)
    board = world.board("ashby", "acme", [*made_up(3), hidden], company="Acme")
    found = board_of_url(board.url)
    assert found is not None
    assert len(await all_of(instruction_for(found))) == 3


async def test_a_board_in_europe_is_asked_there(world: World) -> None:
    board = world.board("lever", "acme", made_up(3), company="Acme", eu=True)
    found = board_of_url(board.url)
    assert found is not None
    assert len(await all_of(instruction_for(found))) == 3


async def test_the_paged_interface_of_workable_is_read_too(world: World) -> None:
    world.board("workable_v3", "acme", made_up(25), company="Acme")
    found = board_of_url("https://apply.workable.com/acme/")
    assert found is not None
    instruction = instruction_for(found, vendor=vendors()["workable_v3"])
    postings = await all_of(instruction)
    assert len(postings) == 25
    assert all(posting.location and posting.workplace for posting in postings)
