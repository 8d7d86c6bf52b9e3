"""Boards that answer a whole list at once, under the vendors' real hosts and paths."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from tests.jobs.world.messages import JSON, Asked, Reply, json_reply
from tests.jobs.world.messages import html as html_reply
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import job_posting, list_page, page, posting_page

if TYPE_CHECKING:
    from tests.jobs.world.world import World

XML = "application/xml; charset=utf-8"


@dataclass(frozen=True)
class Board:
    """A board that the world has.

    Attributes:
        url: where people read it.
        list_url: what a program asks first, without parameters.
        urls: of each opening by its id, where people read it.
    """

    kind: str
    token: str
    url: str
    list_url: str
    urls: dict[str, str]


@dataclass(frozen=True)
class Wanted:
    """A board to be put up.

    Attributes:
        recorded: a recorded payload, answered instead of what the openings give.
        options: of some vendors: ``wd``, ``site``.
    """

    token: str
    company: str
    openings: Sequence[Opening]
    recorded: bytes | None
    etag: bool
    options: dict[str, Any]

    def reply(self, value: Any) -> Reply:
        """The list as JSON."""
        return (
            Reply(self.recorded, media_type=JSON, etag=self.etag)
            if self.recorded
            else json_reply(value, etag=self.etag)
        )

    def xml(self, text: str) -> Reply:
        """The list as XML."""
        return Reply(self.recorded or text.encode(), media_type=XML, etag=self.etag)


Maker = Callable[["World", Wanted], Board]


def put_up(world: World, wanted: Wanted, board: Board) -> Board:
    """The pages for people: the list, and one for each opening."""
    links = [(board.urls[opening.id], opening) for opening in wanted.openings]
    world.page(board.url, list_page(wanted.company, links[:200]))
    by_address = {url.rstrip("/"): opening for url, opening in links}

    def posting(asked: Asked) -> Reply | None:
        address = asked.url.partition("?")[0].rstrip("/")
        opening = by_address.get(address)
        return html_reply(posting_page(opening, address, wanted.company)) if opening is not None else None

    if links:
        world.under(next(iter(by_address)).rpartition("/")[0] + "/", posting)
    return board


def greenhouse(world: World, wanted: Wanted) -> Board:
    """One reply, text escaped as markup in markup; the board's name at its root."""
    token, api = wanted.token, f"https://boards-api.greenhouse.io/v1/boards/{wanted.token}"
    site = f"https://job-boards.greenhouse.io/{token}"
    urls = {opening.id: f"{site}/jobs/{opening.id}" for opening in wanted.openings}
    jobs = [
        {
            "id": opening.number, "title": opening.title, "absolute_url": urls[opening.id],
            "location": {"name": opening.location}, "content": html.escape(opening.html),
            "first_published": opening.posted, "updated_at": "2026-11-20T08:00:00-05:00",
            "company_name": wanted.company, "requisition_id": f"R-{opening.id}", "metadata": None,
            "departments": [{"id": 1, "name": "Engineering"}],
            "offices": [{"id": 2, "name": opening.city, "location": opening.location}],
        }
        for opening in wanted.openings
    ]  # fmt: skip
    world.answer(f"{api}/jobs", wanted.reply({"jobs": jobs, "meta": {"total": len(jobs)}}))
    world.answer(api, json_reply({"name": wanted.company, "content": ""}))
    return put_up(world, wanted, Board("greenhouse", wanted.token, site, f"{api}/jobs", urls))


def ashby(world: World, wanted: Wanted) -> Board:
    """One reply; some rows are not listed."""
    list_url = f"https://api.ashbyhq.com/posting-api/job-board/{wanted.token}"
    site = f"https://jobs.ashbyhq.com/{wanted.token}"
    urls = {opening.id: f"{site}/{opening.id}" for opening in wanted.openings}
    jobs: list[dict[str, Any]] = [
        {
            "id": opening.id, "title": opening.title, "department": "Engineering", "employmentType": "FullTime",
            "location": opening.location, "secondaryLocations": [], "publishedAt": opening.posted,
            "isListed": opening.listed, "isRemote": opening.workplace == "remote",
            "workplaceType": {"remote": "Remote", "hybrid": "Hybrid", "onsite": "OnSite"}.get(opening.workplace or ""),
            "jobUrl": urls[opening.id], "applyUrl": f"{urls[opening.id]}/application",
            "descriptionHtml": opening.html, "descriptionPlain": opening.text,
            "compensation": {"compensationTierSummary": _salary(opening), "compensationTiers": []},
        }
        for opening in wanted.openings
    ]  # fmt: skip
    world.answer(list_url, wanted.reply({"jobs": jobs, "apiVersion": "1"}))
    return put_up(world, wanted, Board("ashby", wanted.token, site, list_url, urls))


def _salary(opening: Opening) -> str | None:
    if opening.salary is None:
        return None
    low, high, currency = opening.salary
    return f"{'$' if currency == 'USD' else currency + ' '}{low // 1000}K – {high // 1000}K"


def workable(world: World, wanted: Wanted) -> Board:
    """One reply; an opening in two places comes twice under one shortcode."""
    list_url = f"https://apply.workable.com/api/v1/widget/accounts/{wanted.token}"
    urls = {opening.id: f"https://apply.workable.com/{wanted.token}/j/{opening.id}/" for opening in wanted.openings}
    jobs: list[dict[str, Any]] = []
    for opening in wanted.openings:
        for place in opening.location.split("; "):
            city, _, country = place.partition(", ")
            jobs.append({
                "title": opening.title, "shortcode": opening.id, "telecommuting": opening.workplace == "remote",
                "department": "Engineering", "url": f"https://apply.workable.com/j/{opening.id}",
                "published_on": opening.posted[:10], "created_at": "2026-01-01", "country": country, "city": city,
                "state": "", "locations": [{"country": country, "city": city, "region": None, "hidden": False}],
                "description": opening.html,
            })  # fmt: skip
        world.page(
            f"https://apply.workable.com/j/{opening.id}", posting_page(opening, urls[opening.id], wanted.company)
        )
    world.answer(list_url, wanted.reply({"name": wanted.company, "description": None, "jobs": jobs}))
    site = f"https://apply.workable.com/{wanted.token}/"
    return put_up(world, wanted, Board("workable", wanted.token, site, list_url, urls))


def recruitee(world: World, wanted: Wanted) -> Board:
    """One reply with dates of a form of its own."""
    site = f"https://{wanted.token}.recruitee.com"
    urls = {opening.id: f"{site}/o/{_slug(opening)}" for opening in wanted.openings}
    offers = []
    for opening in wanted.openings:
        half = len(opening.html) // 2
        cut = opening.html.find("<p>", half) if "<p>" in opening.html[half:] else len(opening.html)
        low, high, currency = opening.salary or (None, None, None)
        posted = datetime.fromtimestamp(opening.posted_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        offers.append({
            "id": opening.number, "slug": _slug(opening), "title": opening.title, "location": opening.location,
            "city": opening.city, "careers_url": urls[opening.id], "company_name": wanted.company,
            "description": opening.html[:cut], "requirements": opening.html[cut:], "published_at": posted,
            "created_at": "2026-01-01 00:00:00 UTC", "status": "published", "remote": opening.workplace == "remote",
            "hybrid": opening.workplace == "hybrid", "on_site": opening.workplace == "onsite",
            "salary": {"min": low and str(low), "max": high and str(high), "period": "year", "currency": currency},
        })  # fmt: skip
    world.answer(f"{site}/api/offers", wanted.reply({"offers": offers}))
    world.answer(f"{site}/api/offers/", wanted.reply({"offers": offers}))
    return put_up(world, wanted, Board("recruitee", wanted.token, f"{site}/", f"{site}/api/offers/", urls))


def _slug(opening: Opening) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in opening.title.lower()).split())


def personio(world: World, wanted: Wanted) -> Board:
    """XML; an office more than one place."""
    site = f"https://{wanted.token}.jobs.personio.de"
    urls = {opening.id: f"{site}/job/{opening.id}" for opening in wanted.openings}
    positions = "".join(
        f"<position><id>{opening.id}</id><subcompany>{escape(wanted.company)}</subcompany>"
        f"<office>{escape(opening.location)}</office><department>Engineering</department>"
        f"<name>{escape(opening.title)}</name><jobDescriptions><jobDescription><name>Your role</name>"
        f"<value><![CDATA[{opening.html}]]></value></jobDescription></jobDescriptions>"
        f"<employmentType>permanent</employmentType><schedule>full-time</schedule>"
        f"<createdAt>{opening.posted}</createdAt></position>"
        for opening in wanted.openings
    )
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<workzag-jobs>{positions}</workzag-jobs>'
    world.answer(f"{site}/xml", wanted.xml(text))
    return put_up(world, wanted, Board("personio", wanted.token, f"{site}/", f"{site}/xml", urls))


def teamtailor(world: World, wanted: Wanted) -> Board:
    """A JSON feed with a JobPosting in each item, and the same as RSS."""
    site = f"https://{wanted.token}.teamtailor.com"
    urls = {opening.id: f"{site}/jobs/{opening.id}-{_slug(opening)}" for opening in wanted.openings}
    items = [
        {
            "id": f"uuid-{opening.id}", "title": opening.title, "url": urls[opening.id],
            "date_published": opening.posted, "content_html": opening.html,
            "_jobposting": job_posting(opening, urls[opening.id], wanted.company),
        }
        for opening in wanted.openings
    ]  # fmt: skip
    feed = {
        "version": "https://jsonfeed.org/version/1.1", "title": wanted.company, "home_page_url": f"{site}/jobs",
        "feed_url": f"{site}/jobs.json", "items": items,
    }  # fmt: skip
    world.answer(f"{site}/jobs.json", wanted.reply(feed))
    world.answer(f"{site}/jobs.rss", Reply(feed_of(wanted, urls, f"{site}/jobs").encode(), media_type=XML))
    return put_up(world, wanted, Board("teamtailor", wanted.token, f"{site}/jobs", f"{site}/jobs.json", urls))


def breezy(world: World, wanted: Wanted) -> Board:
    """A root array."""
    site = f"https://{wanted.token}.breezy.hr"
    urls = {opening.id: f"{site}/p/{opening.id}-{_slug(opening)}" for opening in wanted.openings}
    jobs = [
        {
            "id": opening.id, "friendly_id": f"{opening.id}-{_slug(opening)}", "name": opening.title,
            "url": urls[opening.id], "published_date": opening.posted, "type": {"id": "fullTime", "name": "Full-Time"},
            "location": {"name": opening.location, "city": opening.city, "is_remote": opening.workplace == "remote"},
            "department": "Engineering", "salary": _salary(opening) or "", "company": {"name": wanted.company},
        }
        for opening in wanted.openings
    ]  # fmt: skip
    world.answer(f"{site}/json", wanted.reply(jobs))
    return put_up(world, wanted, Board("breezy", wanted.token, f"{site}/", f"{site}/json", urls))


def bamboohr(world: World, wanted: Wanted) -> Board:
    """A list without texts; each opening's details are at an address of their own."""
    site = f"https://{wanted.token}.bamboohr.com"
    urls = {opening.id: f"{site}/careers/{opening.id}" for opening in wanted.openings}
    rows = []
    for opening in wanted.openings:
        row = {
            "id": opening.id, "jobOpeningName": opening.title, "departmentLabel": "Engineering",
            "employmentStatusLabel": opening.employment_type, "isRemote": None, "locationType": "0",
            "location": {"city": opening.city, "state": opening.region},
        }  # fmt: skip
        rows.append(row)
        detail = {
            **row, "jobOpeningShareUrl": urls[opening.id], "description": opening.html, "compensation": None,
            "jobOpeningStatus": "Open", "datePosted": opening.posted[:10],
        }  # fmt: skip
        world.answer(f"{urls[opening.id]}/detail", json_reply({"meta": {}, "result": {"jobOpening": detail}}))
    world.answer(f"{site}/careers/list", wanted.reply({"meta": {"totalCount": len(rows)}, "result": rows}))
    world.answer(f"{site}/careers/company-info", json_reply({"result": {"name": wanted.company}}))
    return put_up(world, wanted, Board("bamboohr", wanted.token, f"{site}/careers", f"{site}/careers/list", urls))


def rss(world: World, wanted: Wanted) -> Board:
    """A feed; its token is its address."""
    site = wanted.token.rpartition("/")[0]
    urls = {opening.id: f"{site}/jobs/{opening.id}" for opening in wanted.openings}
    world.answer(wanted.token, wanted.xml(feed_of(wanted, urls, site)))
    return put_up(world, wanted, Board("rss", wanted.token, f"{site}/jobs", wanted.token, urls))


def feed_of(wanted: Wanted, urls: dict[str, str], site: str) -> str:
    """An RSS feed of the openings."""
    items = "".join(
        f'<item><title>{escape(opening.title)}</title><guid isPermaLink="true">{urls[opening.id]}</guid>'
        f"<link>{urls[opening.id]}</link><description><![CDATA[{opening.html}]]></description>"
        f"<region>{escape(opening.location)}</region>"
        f"<pubDate>{format_datetime(datetime.fromtimestamp(opening.posted_at, UTC))}</pubDate></item>"
        for opening in wanted.openings
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>{escape(wanted.company)}</title>'
        f"<link>{site}</link><description>Jobs</description>{items}</channel></rss>"
    )


def jobvite(world: World, wanted: Wanted) -> Board:
    """Links only; what there is to know of an opening is on its page."""
    site = f"https://jobs.jobvite.com/{wanted.token}"
    urls = {opening.id: f"{site}/job/{opening.id}" for opening in wanted.openings}
    rows = "".join(
        f'<tr><td><a href="/{wanted.token}/job/{opening.id}">{html.escape(opening.title)}</a></td>'
        f'<td class="jv-job-list-location">{html.escape(opening.location)}</td></tr>'
        for opening in wanted.openings
    )
    board = put_up(world, wanted, Board("jobvite", wanted.token, f"{site}/jobs", f"{site}/jobs", urls))
    text = (wanted.recorded or b"").decode() or page(f"{wanted.company} Careers", f"<table>{rows}</table>")
    world.page(f"{site}/jobs", text)
    return board


def loads(recorded: bytes | None) -> Any:
    """A recorded payload that is served in parts."""
    return json.loads(recorded) if recorded else None
