"""From an entry of a list to a posting: rules, places, salaries, addresses, and openings that are listed twice."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.boards.fields import absolute, line, plain, workplace_of
from ramet.jobs.boards.instruction import Instruction, parsed_path, texts_at
from ramet.jobs.boards.salary_text import pay_of, salary_text
from ramet.jobs.posting import Posting
from tests.jobs.boards.sample_boards import NOW, board, read


def only(vendor: str, row: dict[str, Any], **envelope: Any) -> Posting:
    """The one posting of a list with one entry."""
    instruction = board(vendor)
    value: Any = {instruction.response_path: [row], **envelope} if instruction.response_path else [row]
    (posting,) = read(instruction, value).postings
    return posting


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", ["1"]),
        ("b.c", ["x"]),
        ("list.0.n", ["1"]),
        ("list.9.n", []),
        ("list[].n", ["1", "2"]),
        ("list[k=y].n", ["2"]),
        ("b.*", ["x", "true"]),
        ("b[].c", ["x"]),
        ("none", []),
        ("a.b.c", []),
        ("list", []),
        ("", []),
    ],
)
def test_paths(path: str, found: list[str]) -> None:
    value = {"a": 1, "b": {"c": "x", "d": True, "e": None}, "list": [{"n": 1, "k": "x"}, {"n": "2", "k": "y"}]}
    assert texts_at(value, path) == found


@pytest.mark.parametrize("path", ["a..b", ".", "a[", "a]b", "a[b[]]", "a."])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="no path"):
        parsed_path(path)


def test_the_content_of_greenhouse_is_unescaped_once() -> None:
    content = "&lt;p&gt;Fish &amp;amp; chips &amp;lt;b&amp;gt;&lt;/p&gt;&lt;ul&gt;&lt;li&gt;one&lt;/li&gt;&lt;/ul&gt;"
    row = {"id": 1, "title": "Cook", "absolute_url": "https://a.example/1", "content": content}
    assert only("greenhouse", row).description == "Fish & chips <b>\none"


@pytest.mark.parametrize("vendor", ["greenhouse", "ashby", "recruitee", "smartrecruiters"])
def test_the_date_of_a_change_is_never_a_posting_date(vendor: str) -> None:
    row = {"id": 1, "title": "Cook", "name": "Cook", "updated_at": "2026-11-01", "updatedAt": "2026-11-01"}
    row |= dict.fromkeys(["absolute_url", "jobUrl", "careers_url"], "https://a.example/1")
    assert only(vendor, row, company={"identifier": "Acme"}).posted_at is None


def test_an_opening_that_is_listed_for_each_place_is_one_with_all_its_places() -> None:
    rows = [
        {"shortcode": "A", "title": "Cook", "url": "https://a.example/A", "locations": [{"country": country}]}
        for country in ("Spain", "Portugal", "Spain")
    ]
    rows.append({"shortcode": "B", "title": "Cook", "url": "https://a.example/B", "city": "Rome", "country": "Italy"})
    postings = read(board("workable"), {"name": "Acme", "jobs": rows}).postings
    assert [(one.external_id, one.location) for one in postings] == [("A", "Spain; Portugal"), ("B", "Rome, Italy")]
    assert {one.company for one in postings} == {"Acme"}


def test_an_identifier_that_several_openings_share_is_none() -> None:
    rows = [{"id": "0", "text": f"T{n}", "hostedUrl": f"https://a.example/{n}"} for n in range(3)]
    postings = read(board("lever"), rows).postings
    assert [(one.external_id, one.title) for one in postings] == [(None, "T0"), (None, "T1"), (None, "T2")]


def test_lever_tells_a_salary_and_a_place_of_work() -> None:
    row = {
        "id": "1",
        "text": "Cook",
        "hostedUrl": "https://jobs.lever.co/acme/1",
        "workplaceType": "on-site",
        "salaryRange": {"min": 90000, "max": 120000.0, "currency": "USD", "interval": "per-year-salary"},
        "categories": {"location": "Portland, OR", "allLocations": ["Portland, OR", "Boise, ID"]},
        "descriptionPlain": "We cook.",
        "lists": [{"text": "You have", "content": "<li>knives</li><li>salt</li>"}],
        "additionalPlain": "We pay.",
    }
    posting = only("lever", row)
    assert posting.salary == "$90,000 - $120,000 a year"
    assert posting.workplace == "onsite"
    assert posting.location == "Portland, OR; Boise, ID"
    assert posting.description == "We cook.\n\nYou have\nknives\nsalt\n\nWe pay."


@pytest.mark.parametrize(
    ("flags", "workplace"),
    [
        ({"remote": True, "hybrid": False, "on_site": False}, "remote"),
        ({"remote": False, "hybrid": True, "on_site": True}, "hybrid"),
        ({"remote": False, "hybrid": False, "on_site": True}, "onsite"),
        ({"remote": False, "hybrid": False, "on_site": False}, None),
        ({"remote": None}, None),
        ({}, None),
    ],
)
def test_the_flags_of_recruitee_are_a_place_of_work(flags: dict[str, Any], workplace: str | None) -> None:
    row = {"id": 1, "title": "Cook", "careers_url": "https://acme.recruitee.com/o/cook", **flags}
    assert only("recruitee", row).workplace == workplace


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (("90000", "120000", "USD", "year"), "$90,000 - $120,000 a year"),
        (("90000", "", "EUR", "1 YEAR"), "from €90,000 a year"),
        (("0", "120000", "GBP", "annual"), "up to £120,000 a year"),
        (("45", "60.5", "USD", "per-hour-wage"), "$45 - $60.50 an hour"),
        (("5000", "5000", "CHF", "month"), "5,000 CHF a month"),
        (("120000", "90000", "", ""), "90,000 - 120,000"),
        (("0", "0", "USD", "year"), None),
        (("", "", "USD", "year"), None),
        (("nan", "inf", "USD", "year"), None),
        (("1e300", "x", "USD", "year"), None),
        (("-5", "true", "USD", "year"), None),
    ],
)
def test_a_salary_in_numbers_is_written_as_a_person_would(told: tuple[str, str, str, str], text: str | None) -> None:
    assert salary_text(pay_of(*told)) == text


def test_a_salary_in_cents_is_divided() -> None:
    assert salary_text(pay_of("5000000", "6000000", "EUR", "PER_YEAR", 100)) == "€50,000 - €60,000 a year"


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("Remote", "remote"),
        ("FULLY_REMOTE", "remote"),
        ("on-site", "onsite"),
        ("ON_SITE", "onsite"),
        ("In Office", "onsite"),
        ("Hybrid", "hybrid"),
        ("TELECOMMUTE", "remote"),
        ("unspecified", None),
        ("none", None),
        ("not remote", None),
        ("", None),
        ("remote" * 10_000, None),
    ],
)
def test_words_for_a_place_of_work(word: str, found: str | None) -> None:
    assert workplace_of(word) == found


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("/jobs/1", "https://a.example/jobs/1"),
        ("2", "https://a.example/x/2"),
        ("//b.example/1", "https://b.example/1"),
        (
            "https://b.example/jobs/1?gh_jid=4&utm_source=x#apply",
            "https://b.example/jobs/1?gh_jid=4&utm_source=x#apply",
        ),
        ("https://b.example/jobs/köln büro", "https://b.example/jobs/k%C3%B6ln%20b%C3%BCro"),
        ("https://b.example/a%20b", "https://b.example/a%20b"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("mailto:jobs@a.example", None),
        ("file:///etc/passwd", None),
        ("http://[", None),
        ("https://", None),
        ("#", None),
        ("", None),
        ("https://a.example/" + "x" * 3_000, None),
    ],
)
def test_addresses_are_absolute_and_of_the_web(address: str, found: str | None) -> None:
    assert absolute(address, "https://a.example/x/y") == found


def test_a_line_has_no_breaks_references_or_endless_text() -> None:
    assert line(" R&amp;D\n\tLead ") == "R&D Lead"
    assert len(line("x" * 100_000)) == 500


def test_a_teaser_is_no_description() -> None:
    item = "<item><title>Cook</title><link>https://a.example/1</link><description>We cook.</description></item>"
    (posting,) = read(board("rss"), f'<rss version="2.0"><channel>{item}</channel></rss>').postings
    assert posting.description == ""
    assert posting.extra["teaser"] == "We cook."
    assert posting.detail_url == "https://a.example/1"
    assert not posting.whole


def test_a_feed_of_teamtailor_has_places_of_its_own() -> None:
    place = "<tt:location><tt:name>HQ</tt:name><tt:city>{}</tt:city><tt:country>Sweden</tt:country></tt:location>"
    places = place.format("Malmö") + place.format("Lund")
    item = "<item><title>Cook</title><link>https://a.example/1</link><guid>7</guid>"
    item += f"<tt:locations>{places}</tt:locations><tt:remoteStatus>hybrid</tt:remoteStatus></item>"
    rss = f'<rss version="2.0" xmlns:tt="https://teamtailor.com/locations"><channel>{item}</channel></rss>'
    (posting,) = read(board("rss"), rss).postings
    assert posting.location == "Malmö, Sweden; Lund, Sweden"
    assert posting.workplace == "hybrid"
    assert posting.external_id == "7"


def test_an_atom_feed_is_read() -> None:
    entry = "<entry><id>tag:1</id><title>Cook</title><link href='https://a.example/1'/>"
    entry += "<published>2026-10-01T00:00:00Z</published><updated>2026-11-01T00:00:00Z</updated></entry>"
    later = "<entry><id>tag:2</id><title>Chef</title><link href='https://a.example/2'/><updated>2026-11-01T00:00:00Z"
    later += "</updated></entry>"
    feed = f"<feed xmlns='http://www.w3.org/2005/Atom'><title>Acme</title>{entry}{later}</feed>"
    first, second = read(board("rss"), feed).postings
    assert first.posted_at is not None
    assert NOW - first.posted_at == pytest.approx(50.5 * 86_400)
    assert second.posted_at is None


def test_a_row_of_ones_own_needs_no_code() -> None:
    mine = Instruction.of(
        {
            "type": "json",
            "vendor": "mine",
            "url": "https://api.mine.example/{offset}",
            "base_url": "https://mine.example/",
            "response_path": "data.positions",
            "fields": {
                "title": "name",
                "url": {"template": "/position/{key}"},
                "location": {"each": "sites[]", "join": ["town", "land"]},
                "workplace": {"path": "home", "map": {"yes": "remote"}},
                "grade": "grade",
            },
            "paging": {"by": "offset", "size": 1},
        }
    )
    row = {"name": "Cook", "key": "a b/c", "sites": [{"town": "Lyon", "land": "FR"}], "home": "Yes", "grade": 3}
    page = read(mine, {"data": {"positions": [row]}})
    (posting,) = page.postings
    assert posting.url == "https://mine.example/position/a%20b/c"
    assert (posting.location, posting.workplace, posting.extra) == ("Lyon, FR", "remote", {"grade": "3"})
    assert page.next is not None
    assert page.next.url == "https://api.mine.example/1"


def test_extensions_of_a_feed_are_not_taken_for_its_own_fields() -> None:
    item = "<item><m:title>Picture</m:title><title>Cook</title><m:description>x</m:description>"
    item += "<atom:link rel='self' href='https://a.example/feed'/><link>https://a.example/1</link>"
    item += "<c:encoded><![CDATA[<p>" + "We cook. " * 40 + "</p>]]></c:encoded><description>short</description></item>"
    names = "xmlns:m='http://search.yahoo.com/mrss/' xmlns:atom='http://www.w3.org/2005/Atom'"
    names += " xmlns:c='http://purl.org/rss/1.0/modules/content/'"
    (posting,) = read(board("rss"), f"<rss version='2.0' {names}><channel>{item}</channel></rss>").postings
    assert (posting.title, posting.url) == ("Cook", "https://a.example/1")
    assert posting.description.startswith("We cook. We cook.")


def test_an_atom_feed_with_xhtml_and_several_links() -> None:
    entry = "<entry><id>1</id><title type='html'>Cook &amp;amp; Chef</title>"
    entry += "<link rel='self' href='https://a.example/self'/><link rel='alternate' href='/1'/>"
    entry += (
        "<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>" + "We cook. " * 40 + "</p><p>You too."
    )
    entry += "</p></div></content></entry>"
    feed = f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry}</feed>"
    (posting,) = read(board("rss"), feed).postings
    assert (posting.title, posting.url) == ("Cook & Chef", "https://careers.acme.example/1")
    assert posting.description.endswith("We cook.\nYou too.")


@pytest.mark.parametrize(
    ("bullets", "number"),
    [
        (["JR354232"], "JR354232"),
        (["R-12_b"], "R-12_b"),
        (["Remote", "JR1"], "JR77"),
        (["11/20/2026"], "JR77"),
        (["3 Locations"], "JR77"),
        ([], "JR77"),
        (None, "JR77"),
    ],
)
def test_the_number_of_a_workday_opening(bullets: list[str] | None, number: str) -> None:
    row = {"title": "Cook", "externalPath": "/job/Lyon/Cook_JR77", "bulletFields": bullets}
    assert only("workday", row).external_id == number


def test_a_text_without_a_title_has_the_heading_of_the_vendors_pages() -> None:
    row = {"id": 1, "title": "Cook", "careers_url": "https://acme.recruitee.com/o/cook", "description": "<p>We cook."}
    assert only("recruitee", {**row, "requirements": "<p>Knives"}).description == "We cook.\n\nRequirements\nKnives"
    assert only("recruitee", {**row, "requirements": "<p></p>"}).description == "We cook."


def test_salaries_of_greenhouse_and_of_the_tiers_of_ashby() -> None:
    pay = [{"min_cents": 12000000, "max_cents": 15050000, "currency_type": "USD", "title": "Annual Salary:"}]
    row = {"id": 1, "title": "Cook", "absolute_url": "https://a.example/1", "pay_input_ranges": pay}
    assert only("greenhouse", row).salary == "$120,000 - $150,500 a year"
    part = {"compensationType": "Salary", "minValue": 45, "maxValue": 60, "currencyCode": "CAD", "interval": "1 HOUR"}
    equity = {"compensationType": "EquityPercentage", "minValue": 1, "maxValue": 2}
    told = {"compensationTiers": [{"components": [equity, part]}]}
    row = {"id": "1", "title": "Cook", "jobUrl": "https://a.example/1", "compensation": told}
    assert only("ashby", row).salary == "45 CAD - 60 CAD an hour"


def test_places_of_ashby_may_be_words_or_objects() -> None:
    row = {"id": "1", "title": "Cook", "jobUrl": "https://a.example/1", "location": "Lyon"}
    row["secondaryLocations"] = [{"location": "Paris"}, "Nice", {"location": "Lyon"}, None]  # type: ignore[assignment]
    assert only("ashby", row).location == "Lyon; Paris; Nice"


@pytest.mark.parametrize("markup", ["html", "escaped", "text"])
def test_a_reference_to_no_character_is_read_on(markup: str) -> None:
    endless = f"a &#{'9' * 5_000}; b"
    assert plain(endless, markup).startswith("a ")
    assert line(endless).startswith("a ")
