"""A week on a virtual clock, one scheduled run a day: boards change, fail, come back and post again.

What each day has to bring is written down in `WEEK`, before anything runs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ramet.engine.worker.loops import tick
from ramet.jobs import MatchStatus, mark_matches, match_history, matches
from ramet.jobs.app import LIMITS
from ramet.jobs.kinds import LISTING
from ramet.jobs.pipeline import app
from ramet.jobs.tasks.match_status import mark_shown
from ramet.jobs.tasks.scheduled_run import SCHEDULE, SCHEDULED_RUN
from ramet.testing import drain
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.boards import Board
from tests.jobs.world.faults import trouble
from tests.jobs.world.openings import TEXT, Opening

pytestmark = pytest.mark.network

DAY = 86_400.0
NAMES = ("acme", "globex", "initech")


def opening(number: str, title: str, words: str) -> Opening:
    return Opening(number, title, text=f"{TEXT}\n{words}")


PAYMENTS = opening("11", "Senior Python Engineer, Payments", "The payments team settles what ferries earn.")
SALES = opening("12", "Sales Manager", "You sell tickets to companies that ship lorries.")
TIMETABLES = opening("13", "Python Developer, Timetables", "Timetables of three hundred harbours change all the time.")
CHANGED = replace(TIMETABLES, title="Lead Python Developer, Timetables", text=f"{TEXT}\nYou lead a team of five.")
ENGINES = opening("21", "Platform Engineer, Engines", "Engines tell how they are, and the platform listens to them.")
AGAIN = replace(ENGINES, id="29")
RADAR = opening("22", "Backend Engineer, Radar", "Radar pictures are turned into tracks, and tracks into warnings.")
HARBOUR = opening("31", "Python Engineer, Harbour", "The harbour's own cranes are steered by what you write.")


@dataclass(frozen=True)
class Today:
    """What the boards show, and what has to come of it. Openings are named `board/number`."""

    boards: Mapping[str, Sequence[Opening]]
    """Others show what they showed before."""
    down: Sequence[str] = ()
    """Boards that answer with errors all day."""
    judged: Sequence[str] = ()
    """What a task was made for."""
    told: Sequence[str] = ()
    """In the digest; empty: nothing is told."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """What the person says in the evening."""
    look: bool = False
    """Whether the person looks at what is new in the evening."""
    evening: Mapping[str, str] = field(default_factory=dict)
    """Status of the matches that are shown at last."""


WEEK = {
    "Monday: the first run finds what there is": Today(
        {"acme": [PAYMENTS, SALES], "globex": [ENGINES], "initech": []},
        judged=["acme/11", "globex/21"],
        told=["acme/11", "globex/21"],
        marks={"acme/11": "applied", "globex/21": "dismissed"},
        evening={"acme/11": "applied"},
    ),
    "Tuesday: one more opening, and a board that is down": Today(
        {"acme": [PAYMENTS, SALES, TIMETABLES]},
        down=["globex"],
        judged=["acme/13"],
        told=["acme/13"],
        evening={"acme/11": "applied", "acme/13": "new"},
    ),
    "Wednesday: the board is back with one more; the person looks": Today(
        {"globex": [ENGINES, RADAR]},
        judged=["globex/22"],
        told=["globex/22"],
        look=True,
        evening={"acme/11": "applied", "acme/13": "seen", "globex/22": "seen"},
    ),
    "Thursday: one is taken down, one has another title and text": Today(
        {"acme": [SALES, CHANGED]},
        judged=["acme/13"],
        evening={"acme/11": "applied", "acme/13": "seen", "globex/22": "seen"},
    ),
    "Friday: a dismissed opening is posted again under another number": Today(
        {"globex": [AGAIN, RADAR]},
        judged=["globex/29"],
        evening={"acme/11": "applied", "acme/13": "seen", "globex/22": "seen"},
    ),
    "Saturday: nothing changes": Today(
        {},
        evening={"acme/11": "applied", "acme/13": "seen", "globex/22": "seen"},
    ),
    "Sunday: one more, and what was taken down is closed": Today(
        {"initech": [HARBOUR]},
        judged=["initech/31"],
        told=["initech/31"],
        marks={"acme/11": "interviewing"},
        evening={"acme/11": "interviewing", "acme/13": "seen", "globex/22": "seen", "initech/31": "new"},
    ),
}
HISTORIES = {
    "acme/11": ["told", "applied", "interviewing"],
    "acme/13": ["told", "seen"],
    "globex/21": ["told", "dismissed"],
    "globex/29": ["told", "dismissed"],  # of the opening that it was
    "globex/22": ["told", "seen"],
    "initech/31": ["told"],
}
JUDGED = {"acme/11": 1, "acme/13": 2, "globex/21": 1, "globex/22": 1, "globex/29": 1, "initech/31": 1}
"""Once, and once more for each change."""
CLOSED = {"acme/11"}


def named(address: str) -> str:
    """`acme/11` of an address or an id."""
    found = re.search(r"greenhouse\.io/(\w+)/jobs/(\d+)", address)
    assert found is not None, address
    return f"{found[1]}/{found[2]}"


class Week:
    """The boards, the person, and what was seen of the product."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.boards: dict[str, Board] = {}
        self.judged: Counter[str] = Counter()

    async def begin(self) -> None:
        """Three boards that are sources, and a run every morning at seven."""
        await self.desk.set(**EAGER)
        for name in NAMES:
            await self.desk.discover(self.show(name, [opening("1", "Sales Clerk", "")]).url, approved=True)
            await self.desk.client.read("SELECT 1")
            await self.allow_empty(name)
        await self.desk.client.schedules.add(SCHEDULED_RUN, {"everything": True}, name=SCHEDULE, cron="0 7 * * *")

    def show(self, name: str, openings: Sequence[Opening]) -> Board:
        """Put a board up, or change it."""
        self.boards[name] = self.desk.world.board("greenhouse", name, openings, company=name.capitalize())
        return self.boards[name]

    async def allow_empty(self, name: str) -> None:
        """A person says that this board may be empty."""
        payload = {"source_id": f"greenhouse:{name}", "enable": True, "allow_empty": True, "by": "Ana"}
        assert (await self.desk.run("jobs.switch", payload)).state == "success"

    async def morning(self, today: Today) -> dict[str, Any]:
        """At seven the schedule's slot comes; what its run made."""
        client = self.desk.client
        for name, openings in today.boards.items():
            self.show(name, openings)
        for name in NAMES:
            faults = [trouble()] if name in today.down else []
            self.desk.world.behave(self.boards[name].list_url, *faults, forever=name in today.down)
        schedule = await client.schedules.get(SCHEDULE)
        assert schedule is not None
        self.desk.clock.advance(schedule.next_at - self.desk.clock.now())
        before = {one.id for one in await client.alert_notices(limit=1_000)}
        await tick(client.store, 5.0, LIMITS, client.settings.live)
        await drain(app, client)
        after = await client.schedules.get(SCHEDULE)
        assert after is not None
        assert after.last_tracking_id is not None
        [root] = await client.roots(after.last_tracking_id)
        assert root.state == "success", root.why
        keys = [task.key async for task in client.all_tasks(tracking_id=root.tracking_id, kind=LISTING)]
        self.judged.update(map(named, keys))
        told = [one for one in await client.alert_notices(limit=1_000) if one.id not in before]
        digests = [[named(match["url"]) for match in one.body["data"]["matches"]] for one in told]
        return {"judged": sorted(map(named, keys)), "digests": [sorted(digest) for digest in digests]}

    async def evening(self, today: Today) -> dict[str, str]:
        """The person looks and says something; what is shown then."""
        client = self.desk.client
        if today.look:
            new = await matches(client, now=self.desk.clock.now(), statuses=[MatchStatus.NEW])
            await mark_shown(client, [one.match.listing_id for one in new])
        for name, status in today.marks.items():
            board, _, number = name.partition("/")
            [(listing_id,)] = await self.desk.rows("jobs_listings", "listing_id", f"url LIKE '%/{board}/jobs/{number}'")
            await mark_matches(client, [listing_id], status, by="Ana")
        found = await matches(client, now=self.desk.clock.now())
        return {named(one.match.url): one.status.value for one in found}


async def test_a_week_is_as_it_was_written_down(desk: Desk) -> None:
    week = Week(desk)
    await week.begin()
    for name, today in WEEK.items():
        made = await week.morning(today)
        expected = {"judged": sorted(today.judged), "digests": [sorted(today.told)] if today.told else []}
        assert (name, made) == (name, expected)
        assert (name, await week.evening(today)) == (name, dict(today.evening))
    assert dict(week.judged) == JUDGED
    for one, expected_history in HISTORIES.items():
        board, _, number = one.partition("/")
        [(listing_id,)] = await desk.rows("jobs_listings", "listing_id", f"url LIKE '%/{board}/jobs/{number}'")
        history = [mark.status for mark in await match_history(desk.client, listing_id)]
        assert (one, history) == (one, expected_history)
    closed = await desk.rows("jobs_listings", "url", "closed_at IS NOT NULL AND status = 'matched'")
    assert {named(url) for (url,) in closed} >= CLOSED
    schedule = await desk.client.schedules.get(SCHEDULE)
    assert schedule is not None
    assert (schedule.runs, schedule.skipped, schedule.missed) == (len(WEEK), 0, 0)
