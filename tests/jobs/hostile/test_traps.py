"""Sites that would go on for ever: what is taken from them is bounded, and the same page is the same record."""

from __future__ import annotations

from collections import Counter
from itertools import count, pairwise

import pytest

from ramet.jobs.kinds import COMPANY, LISTING, RESCORE, SCRAPE_SOURCE, SOURCE_DISCOVERY
from tests.hostile.pages import fresh, fresh_word
from tests.jobs.running.conftest import EAGER, Desk
from tests.jobs.world.messages import Asked, Reply, html
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import jsonld, page, posting_page
from tests.support.backends import BACKENDS

pytestmark = pytest.mark.network

both = pytest.mark.parametrize("backend", sorted(BACKENDS), indirect=True)
SITE = "https://acme.example/"
PAGE = "https://careers.acme.example/jobs/1"
OPENING = Opening("1", "Python Engineer")


async def kinds(desk: Desk) -> Counter[str]:
    """How many tasks of each kind there are."""
    return Counter([task.kind async for task in desk.client.all_tasks()])


@both
async def test_an_opening_under_ever_new_session_ids_is_one_listing(desk: Desk) -> None:
    await desk.set(**EAGER)
    desk.world.under("https://careers.acme.example/", lambda _: html(posting_page(OPENING, PAGE, "Acme")))
    for number in range(3):
        token = fresh(number)
        for url in (
            f"{PAGE}?PHPSESSID={token}",
            f"{PAGE};jsessionid={token}",
            f"{PAGE}/?sid={token}&utm_source=x#{token}",
        ):
            await desk.run(LISTING, {"url": url})
    assert len(await desk.rows("jobs_listings", "listing_id")) == 1


@both
async def test_a_site_that_finds_whatever_is_asked_for_starts_nothing(desk: Desk) -> None:
    """A soft 404: every address is a page that says sorry and recommends two that nobody wrote."""
    asked = count()

    def sorry(_: Asked) -> Reply:
        links = "".join(f'<a href="/{fresh_word(next(asked), at)}">Careers</a>' for at in range(2))
        return html(page("Acme", f"<p>{'We could not find this, but look here. ' * 20}</p>{links}"))

    desk.world.under(SITE, sorry)
    task = await desk.company()
    assert task.state in ("success", "failed"), task
    assert await kinds(desk) == {COMPANY: 1, RESCORE: 1}
    assert len({one.target for one in desk.world.requests}) < 10


@both
async def test_employers_on_ever_new_subdomains_are_one_company(desk: Desk) -> None:
    await desk.set(**EAGER)
    for number in range(4):
        organization = {"@type": "Organization", "name": "Acme", "sameAs": f"https://{fresh(number)}.acme.example/"}
        posting = {"@type": "JobPosting", "title": f"Engineer {number}", "hiringOrganization": organization}
        desk.world.page(f"{PAGE}{number}", page("Engineer", "<main>Python</main>", head=jsonld(posting)))
        await desk.run(LISTING, {"url": f"{PAGE}{number}"})
    assert len(await desk.rows("jobs_companies", "company_id")) == 1
    assert (await kinds(desk))[COMPANY] == 1


def posting_of(name: str) -> str:
    """The page of an opening at a company whose site is named like it."""
    organization = {"@type": "Organization", "name": name.capitalize(), "sameAs": f"https://{name}.example/"}
    return page(
        "Job", "", head=jsonld({"@type": "JobPosting", "title": "Engineer", "hiringOrganization": organization})
    )


@both
async def test_companies_that_lead_to_one_another_without_end_stop_at_the_first_board(desk: Desk) -> None:
    """A posting names a company, whose board has a posting that names the next one, and so on."""
    await desk.set(**EAGER)
    names = [fresh_word("ring", number, syllables=4) for number in range(5)]
    for name, following in pairwise(names):
        board = desk.world.board("greenhouse", name, [OPENING], company=name.capitalize())
        careers = f'<a href="{board.url}">Open positions</a>'
        desk.world.company(name.capitalize(), f"https://{name}.example/", careers=careers)
        desk.world.page(board.urls[OPENING.id], posting_of(following))
    desk.world.page(PAGE, posting_of(names[0]))
    root = await desk.run(LISTING, {"url": PAGE})
    lineage = await desk.client.lineage(root.tracking_id)
    assert lineage is not None
    assert (lineage.state, lineage.live) == ("finished", 0)
    assert await kinds(desk) == {COMPANY: 1, SOURCE_DISCOVERY: 1, SCRAPE_SOURCE: 1, LISTING: 2, RESCORE: 1}


async def test_of_two_spellings_of_one_page_both_say_the_other_is_the_true_one_and_each_is_read_once(
    desk: Desk,
) -> None:
    """Canonical links that lie: a page is about its address, whatever it says of itself."""
    await desk.set(**EAGER)
    for number in (1, 2):
        other = f"https://careers.acme.example/jobs/{3 - number}"
        body = posting_page(Opening(f"{number}", f"Engineer {number}"), other, "Acme")
        desk.world.page(
            f"https://careers.acme.example/jobs/{number}",
            body.replace("<head>", f'<head><link rel="canonical" href="{other}">'),
        )
        await desk.run(LISTING, {"url": f"https://careers.acme.example/jobs/{number}"})
    assert sorted(await desk.listings()) == ["Engineer 1", "Engineer 2"]
    read = Counter(one.path for one in desk.world.requests if one.path.startswith("/jobs/"))
    assert read == {"/jobs/1": 1, "/jobs/2": 1}
