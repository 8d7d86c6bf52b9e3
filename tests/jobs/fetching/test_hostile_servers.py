"""The fetcher against servers that mean harm, or are in trouble. Nothing here may hang or be kept in memory."""

from __future__ import annotations

import pytest

from ramet.fetch.errors import BusyAnswer, FetchError, Refused, TooLarge, Trouble
from ramet.jobs.app import fetchers
from ramet.jobs.boards.instruction import Instruction
from ramet.jobs.boards.paging import first_request
from ramet.jobs.boards.reader import read_list
from ramet.jobs.boards.vendors import instruction_for
from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.detection.postings import posting_of_page
from ramet.jobs.errors import WrongShape
from tests.jobs.world.faults import (
    bomb,
    busy,
    cut_off,
    drip,
    empty_jsonld,
    garbled,
    hang,
    huge,
    redirect,
    trouble,
    wrong_json,
)  # fmt: skip
from tests.jobs.world.openings import made_up
from tests.jobs.world.world import Action, World

pytestmark = pytest.mark.network

SITE = "https://acme.example"
URL = f"{SITE}/careers"
MAX = 1_000_000


@pytest.mark.parametrize("action", [huge(50), bomb(50)], ids=["huge", "bomb"])
async def test_fifty_megabytes_are_not_read_to_their_end(world: World, action: Action) -> None:
    world.behave(URL, action)
    with pytest.raises(TooLarge, match="more than 1,000,000 bytes") as raised:
        await fetchers.here().fetch(URL, bytes_max=MAX)
    assert raised.value.url == URL


@pytest.mark.parametrize(
    "action",
    [cut_off(), garbled(), trouble(500), trouble(502), trouble(503)],
    ids=["cut off", "garbled", "500", "502", "503"],
)
async def test_half_an_answer_and_errors_of_the_server_are_trouble(world: World, action: Action) -> None:
    world.behave(URL, action)
    with pytest.raises(Trouble) as raised:
        await fetchers.here().fetch(URL, bytes_max=MAX)
    assert "\n" not in str(raised.value)
    assert "acme.example" in str(raised.value)


@pytest.mark.parametrize("action", [hang(), drip()], ids=["hang", "drip"])
async def test_a_server_that_takes_for_ever_is_given_up(world: World, action: Action) -> None:
    world.behave(URL, action)
    with pytest.raises(Trouble, match=r"no whole answer in 0\.3 s"):
        await fetchers.here().fetch(URL, bytes_max=MAX, seconds=0.3)


async def test_all_redirects_together_have_one_time(world: World) -> None:
    world.answer(URL, redirect(f"{SITE}/b"))
    world.behave(f"{SITE}/b", hang())
    with pytest.raises(Trouble, match="no whole answer"):
        await fetchers.here().fetch(URL, bytes_max=MAX, seconds=0.5)


async def test_robots_that_never_come_stop_the_page(world: World) -> None:
    world.behave(f"{SITE}/robots.txt", hang())
    with pytest.raises(Trouble, match="no whole answer"):
        await fetchers.here().fetch(URL, bytes_max=MAX, seconds=0.3, robots=True)
    assert world.asked(URL) == []


async def test_robots_without_end_are_read_to_half_a_megabyte(world: World) -> None:
    world.page(URL, "there")
    world.behave(f"{SITE}/robots.txt", huge(50))
    assert (await fetchers.here().fetch(URL, bytes_max=MAX, robots=True)).text == "there"


@pytest.mark.parametrize(("seconds", "told"), [(5, 5.0), ("soon", None), (None, None)])
async def test_a_busy_server_names_its_time(world: World, seconds: int | str | None, told: float | None) -> None:
    world.behave(URL, busy(seconds))
    with pytest.raises(BusyAnswer) as raised:
        await fetchers.here().fetch(URL, bytes_max=MAX)
    assert (raised.value.seconds, raised.value.status, raised.value.url) == (told, 429, URL)


PRIVATE = [
    "https://127.0.0.1/admin", "http://127.0.0.1:8080/", "http://[::1]/", "http://10.0.0.1/", "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/", "http://2130706433/", "http://0x7f.1/", "http://localhost/",
    "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/",
]  # fmt: skip


@pytest.mark.parametrize("target", PRIVATE)
async def test_no_private_address_is_asked_though_every_name_leads_to_one(world: World, target: str) -> None:
    """A redirect from http, since one from https to http is refused for that alone."""
    world.answer("http://acme.example/", redirect(target))
    for url in (target, "http://acme.example/"):
        with pytest.raises(Refused, match="nothing is fetched there"):
            await fetchers.here().fetch(url, bytes_max=MAX)
    assert {asked.host for asked in world.requests} == {"acme.example"}


@pytest.mark.parametrize(
    "target",
    ["http://acme.example/", "file:///etc/passwd", "https://u:secret@b.example/", "//[::1", "", "javascript:x"],
)
async def test_redirects_to_what_is_not_followed_are_refused(world: World, target: str) -> None:
    world.answer(URL, redirect(target))
    with pytest.raises(Refused) as raised:
        await fetchers.here().fetch(URL, bytes_max=MAX)
    assert "secret" not in str(raised.value)
    assert len(world.requests) == 1


@pytest.mark.parametrize(
    "url", ["", "acme.example", "ftp://a.example/", "https://", "https://u:p@a.example/", "https://[::1"]
)
async def test_what_is_no_address_is_refused(world: World, url: str) -> None:
    for robots in (False, True):
        with pytest.raises(Refused) as raised:
            await fetchers.here().fetch(url, bytes_max=MAX, robots=robots)
        assert "\n" not in str(raised.value)
    assert world.requests == []


async def test_a_header_that_breaks_out_is_refused(world: World) -> None:
    with pytest.raises(Refused, match="is not a header"):
        await fetchers.here().fetch(URL, bytes_max=MAX, validators={"etag": "x\r\nHost: b.example"})
    assert world.requests == []


async def test_a_certificate_is_checked_for_the_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(Trouble, match=r"(?i)certificate") as raised:
        await fetchers.here().fetch(URL, bytes_max=MAX)
    assert isinstance(raised.value, FetchError)
    assert world.requests == []


async def test_answers_of_a_wrong_shape_come_as_they_are_and_are_told_from_nothing(world: World) -> None:
    board = world.board("lever", "acme", made_up(1))
    world.behave(board.list_url, wrong_json())
    answer = await fetchers.here().fetch(f"{board.list_url}?mode=json", bytes_max=MAX)
    request = first_request(instruction_of(board.url))
    with pytest.raises(WrongShape):
        read_list(instruction_of(board.url), answer.body, request=request, page=1, now=0.0)


async def test_one_empty_script_hides_nothing(world: World) -> None:
    world.answer(URL, empty_jsonld("Captain"))
    answer = await fetchers.here().fetch(URL, bytes_max=MAX)
    assert posting_of_page(answer.text, answer.url, 0.0).title == "Captain"


def instruction_of(url: str) -> Instruction:
    found = board_of_url(url)
    assert found is not None
    return instruction_for(found)
