"""Boards that answer page by page, and some of them a posting's text only at an address of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.jobs.world.boards import Board, Wanted, loads, put_up
from tests.jobs.world.messages import JSON, NOT_FOUND, Asked, Reply, html, json_reply
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import list_page

if TYPE_CHECKING:
    from tests.jobs.world.world import World

SHELL = "<!doctype html><html><head><title>Careers</title></head><body><div id=root></div></body></html>"
"""All that a page says that a script fills."""


def lever(world: World, wanted: Wanted) -> Board:
    """A root array by ``skip`` and ``limit``; HTML for who does not ask for JSON. Encoded once, joined per page."""
    region = ".eu" if wanted.options.get("eu") else ""
    list_url = f"https://api{region}.lever.co/v0/postings/{wanted.token}"
    site = f"https://jobs{region}.lever.co/{wanted.token}"
    urls = {opening.id: f"{site}/{opening.id}" for opening in wanted.openings}
    rows = loads(wanted.recorded) or [_lever_row(opening, urls[opening.id]) for opening in wanted.openings]
    encoded = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    people = html(list_page(wanted.company, [(urls[o.id], o) for o in wanted.openings[:200]]))

    def answer(asked: Asked) -> Reply:
        query = asked.query
        if query.get("mode") != "json" and "json" not in asked.headers.get("accept", ""):
            return people
        skip = int(query.get("skip", "0"))
        limit = int(query.get("limit", len(encoded)))
        body = b"[" + b",".join(encoded[skip : skip + limit]) + b"]"
        return Reply(body, media_type=JSON, etag=wanted.etag)

    world.handle(list_url, answer)
    return put_up(world, wanted, Board("lever", wanted.token, site, list_url, urls))


def _lever_row(opening: Opening, url: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": opening.id, "text": opening.title, "hostedUrl": url, "applyUrl": f"{url}/apply",
        "createdAt": int(opening.posted_at * 1000), "country": "US", "descriptionPlain": opening.text,
        "description": opening.html, "lists": [], "additionalPlain": "", "additional": "",
        "categories": {
            "commitment": opening.employment_type, "location": opening.location, "team": "Engineering",
            "allLocations": [opening.location],
        },
        "workplaceType": {"remote": "remote", "hybrid": "hybrid", "onsite": "on-site"}.get(
            opening.workplace or "", "unspecified"
        ),
    }  # fmt: skip
    if opening.salary is not None:
        low, high, currency = opening.salary
        row["salaryRange"] = {"min": low, "max": high, "currency": currency, "interval": "per-year-salary"}
    return row


def smartrecruiters(world: World, wanted: Wanted) -> Board:
    """At most 100 by ``offset``; the text of each by a call of its own. An unknown company has 0, not 404."""
    list_url = f"https://api.smartrecruiters.com/v1/companies/{wanted.token}/postings"
    site = f"https://jobs.smartrecruiters.com/{wanted.token}"
    urls = {opening.id: f"{site}/{opening.id}" for opening in wanted.openings}
    rows = (loads(wanted.recorded) or {}).get("content") or [
        {
            "id": opening.id, "name": opening.title, "uuid": f"uuid-{opening.id}", "releasedDate": opening.posted,
            "company": {"identifier": wanted.token, "name": wanted.company}, "ref": f"{list_url}/{opening.id}",
            "location": {
                "city": opening.city, "region": opening.region, "country": "us", "fullLocation": opening.location,
                "remote": opening.workplace == "remote", "hybrid": opening.workplace == "hybrid",
            },
            "typeOfEmployment": {"id": "permanent", "label": opening.employment_type}, "visibility": "PUBLIC",
        }
        for opening in wanted.openings
    ]  # fmt: skip

    def answer(asked: Asked) -> Reply:
        offset, limit = int(asked.query.get("offset", "0")), min(100, int(asked.query.get("limit", "100")))
        part = rows[offset : offset + limit]
        return json_reply({"offset": offset, "limit": limit, "totalFound": len(rows), "content": part})

    world.handle(list_url, answer)
    for row, opening in zip(rows, wanted.openings, strict=False):
        sections = {"jobDescription": {"title": "Job Description", "text": opening.html}}
        detail = {**row, "postingUrl": urls[opening.id], "jobAd": {"sections": sections}}
        world.answer(f"{list_url}/{opening.id}", json_reply(detail))
    return put_up(world, wanted, Board("smartrecruiters", wanted.token, site, list_url, urls))


def workday(world: World, wanted: Wanted) -> Board:
    """POST, at most 20 at once (400 above), the total on the first page only, the text of each by a GET.

    Options are ``wd``, the number of the data centre, and ``site``.
    """
    number, site = wanted.options.get("wd", 1), wanted.options.get("site", "External")
    base = f"https://{wanted.token}.wd{number}.myworkdayjobs.com"
    api = f"{base}/wday/cxs/{wanted.token}/{site}"
    paths = {o.id: f"/job/{o.city.replace(' ', '-')}/{o.title.replace(' ', '-')}_JR{o.id}" for o in wanted.openings}
    rows = (loads(wanted.recorded) or {}).get("jobPostings") or [
        {
            "title": opening.title, "externalPath": paths[opening.id], "locationsText": opening.location,
            "postedOn": "Posted 3 Days Ago", "bulletFields": [f"JR{opening.id}"],
        }
        for opening in wanted.openings
    ]  # fmt: skip

    def answer(asked: Asked) -> Reply:
        if asked.method != "POST":
            return json_reply({"errorCode": "HTTP_405"}, 405)
        question = asked.json()
        offset, limit = int(question.get("offset", 0)), int(question.get("limit", 20))
        if limit > 20:
            return json_reply({"errorCode": "HTTP_400"}, 400)
        total = len(rows) if offset == 0 else 0
        part = rows[offset : offset + limit]
        return json_reply({"total": total, "jobPostings": part, "facets": [], "userAuthenticated": False})

    world.handle(f"{api}/jobs", answer)
    for opening in wanted.openings:
        info = {
            "id": opening.id, "title": opening.title, "jobDescription": opening.html, "location": opening.location,
            "postedOn": "Posted 3 Days Ago", "startDate": opening.posted[:10], "timeType": "Full time",
            "jobReqId": f"JR{opening.id}", "externalUrl": f"{base}/{site}{paths[opening.id]}",
            "remoteType": {"remote": "Remote", "hybrid": "Hybrid"}.get(opening.workplace or ""),
        }  # fmt: skip
        company = {"hiringOrganization": {"name": wanted.company}}
        world.answer(f"{api}{paths[opening.id]}", json_reply({"jobPostingInfo": info, **company}))
    world.robots(base, f"User-agent: *\nSitemap: {base}/{site}/siteMap.xml\n")
    urls = {opening.id: f"{base}/{site}{paths[opening.id]}" for opening in wanted.openings}
    for url in (f"{base}/{site}", f"{base}/en-US/{site}", *urls.values()):
        world.page(url, SHELL)
    return Board("workday", wanted.token, f"{base}/{site}", f"{api}/jobs", urls)


def workable_v3(world: World, wanted: Wanted) -> Board:
    """POST, ten at once, ``nextPage`` to be sent back as ``token``."""
    list_url = f"https://apply.workable.com/api/v3/accounts/{wanted.token}/jobs"
    rows = [
        {
            "id": opening.number, "shortcode": opening.id, "title": opening.title, "remote": False,
            "published": opening.posted, "workplace": opening.workplace or "on_site",
            "location": {"city": opening.city, "region": opening.region, "country": "United States"},
        }
        for opening in wanted.openings
    ]  # fmt: skip

    def answer(asked: Asked) -> Reply:
        if asked.method != "POST":
            return NOT_FOUND
        start = int((asked.json() if asked.body else {}).get("token") or 0)
        more = {"nextPage": str(start + 10)} if start + 10 < len(rows) else {}
        return json_reply({"total": len(rows), "results": rows[start : start + 10], **more})

    world.handle(list_url, answer)
    urls = {opening.id: f"https://apply.workable.com/{wanted.token}/j/{opening.id}/" for opening in wanted.openings}
    return put_up(
        world, wanted, Board("workable_v3", wanted.token, f"https://apply.workable.com/{wanted.token}/", list_url, urls)
    )
