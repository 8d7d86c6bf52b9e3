"""The posting that a page is about: JSON-LD, microdata, labels and headings."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ramet.jobs.detection.postings import jsonld_postings, posting_of_page
from ramet.jobs.posting import Pay, PlaceFields, Posting

NOW = datetime(2026, 11, 22, tzinfo=UTC).timestamp()
URL = "https://careers.acme.example/jobs/7-clerk"

CLERK: dict[str, Any] = {
    "@context": "https://schema.org/",
    "@type": "JobPosting",
    "title": "Clerk &amp; Archivist",
    "description": "&lt;p&gt;Keep &lt;b&gt;files&lt;/b&gt;.&lt;/p&gt;&lt;ul&gt;&lt;li&gt;SQL&lt;/li&gt;&lt;/ul&gt;",
    "identifier": {"@type": "PropertyValue", "name": "Acme", "value": 7},
    "hiringOrganization": {"@type": "Organization", "name": "Acme", "sameAs": "https://acme.example"},
    "datePosted": "2026-11-20",
    "validThrough": "2026-12-20T00:00",
    "employmentType": ["FULL_TIME", "CONTRACTOR"],
    "jobLocation": {"@type": "Place", "address": {"addressLocality": "Oslo", "addressCountry": "NO"}},
    "baseSalary": {
        "@type": "MonetaryAmount",
        "currency": "USD",
        "value": {"@type": "QuantitativeValue", "minValue": 120000, "maxValue": 150000, "unitText": "YEAR"},
    },
}


def script(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'<script type="application/ld+json">{text}</script>'


def page(*parts: str) -> str:
    return f"<!doctype html><html><head>{''.join(parts)}</head><body><h1>Acme</h1></body></html>"


def of_page(*parts: str) -> Posting:
    return posting_of_page(page(*parts), URL, NOW)


def day(year: int, month: int, number: int) -> float:
    return datetime(year, month, number, tzinfo=UTC).timestamp()


def test_every_field_of_a_jobposting() -> None:
    assert of_page(script(CLERK)) == Posting(
        url=URL,
        title="Clerk & Archivist",
        external_id="7",
        company="Acme",
        company_website="https://acme.example/",
        location="Oslo, NO",
        places=(PlaceFields(city="Oslo", country="NO"),),
        description="Keep files.\nSQL",
        posted_at=day(2026, 11, 20),
        salary="$120,000 - $150,000 a year",
        pay=Pay(minimum=120_000, maximum=150_000, currency="USD", period="year"),
        employment_type="full-time, contractor",
        extra={"valid_through": day(2026, 12, 20)},
    )


@pytest.mark.parametrize(
    "written",
    [
        [CLERK],
        {"@graph": [{"@type": "WebSite"}, CLERK]},
        {"@type": "WebPage", "mainEntity": CLERK},
        {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "item": CLERK}]},
        {**CLERK, "@type": ["Thing", "http://schema.org/JobPosting"]},
        "<!-- " + json.dumps(CLERK) + " -->",
        json.dumps(CLERK) + ";",
        "//<![CDATA[\n" + json.dumps(CLERK) + "\n//]]>",
        "/* <![CDATA[ */" + json.dumps(CLERK) + "/* ]]> */",
        "# <![CDATA[\n" + json.dumps(CLERK) + "\n# ]]>",
        "\ufeff" + json.dumps(CLERK),
        "<!--\n//<![CDATA[\n" + json.dumps(CLERK) + "\n//]]>\n-->",
        json.dumps(CLERK)[:-1] + ",}",
        json.dumps(CLERK).replace("files", "files\n\t"),
        json.dumps(CLERK).replace("&", "&amp;").replace('"', "&quot;"),
    ],
)
def test_jsonld_in_all_the_forms_in_which_people_write_it(written: object) -> None:
    found = of_page(script(written))
    assert (found.title, found.posted_at) == ("Clerk & Archivist", day(2026, 11, 20))


@pytest.mark.parametrize("broken", ["", "  ", "{", '{"@type": "JobPosting", "title": }', "[" * 100_000, "null", "7"])
def test_an_empty_or_broken_script_hides_no_other(broken: str) -> None:
    assert of_page(script(broken), script(CLERK), script(broken)).title == "Clerk & Archivist"


def test_work_from_anywhere() -> None:
    remote = {
        **CLERK,
        "jobLocation": None,
        "jobLocationType": "TELECOMMUTE",
        "applicantLocationRequirements": [{"@type": "Country", "name": "Norway"}, {"@type": "Country", "name": "USA"}],
    }
    found = of_page(script(remote))
    assert (found.workplace, found.location) == ("remote", "Norway; USA")


def test_places_that_all_have_the_address_of_the_first_are_told_by_their_names() -> None:
    address = {"addressLocality": "Oslo", "addressCountry": {"@type": "Country", "name": ["NO", "NO"]}}
    places = [{"@type": "Place", "name": name, "address": address} for name in ("Oslo", "Bergen")]
    assert of_page(script({**CLERK, "jobLocation": places})).location == "Oslo; Bergen"


@pytest.mark.parametrize(
    ("salary", "text"),
    [
        ({"currency": "EUR", "value": 52000}, "€52,000"),
        ({"currency": "USD", "minValue": "40", "maxValue": "50", "unitText": "HOUR"}, "$40 - $50 an hour"),
        ({"currency": "GBP", "value": {"value": 60000, "unitText": "YEAR"}}, "£60,000 a year"),
        ("$1,000 a week", "$1,000 a week"),
        ({"currency": "USD", "value": {"minValue": 0, "maxValue": 0}}, None),
        ([], None),
        (
            {"@type": "PriceSpecification", "price": "52.000,00", "priceCurrency": "EUR", "unitCode": "ANN"},
            "€52,000 a year",
        ),
        ({"priceCurrency": "USD", "minPrice": 30, "maxPrice": 40, "unitText": "HOUR"}, "$30 - $40 an hour"),
        ({"currency": "EUR", "value": "45.000 - 60.000"}, "45.000 - 60.000"),
        ({"currency": "EUR", "value": {"value": "12,50", "unitText": "HOUR"}}, "€12.50 an hour"),
    ],
)
def test_salaries_in_all_their_shapes(salary: object, text: str | None) -> None:
    assert of_page(script({**CLERK, "baseSalary": salary})).salary == text


def test_an_estimated_salary_is_read_where_there_is_no_other() -> None:
    estimated = {
        "@type": "MonetaryAmountDistribution", "name": "base", "currency": "USD", "duration": "P1Y",
        "percentile10": 90_000, "median": 105_000, "percentile90": 120_000,
    }  # fmt: skip
    bare = {name: value for name, value in CLERK.items() if name != "baseSalary"}
    found = of_page(script({**bare, "estimatedSalary": [estimated]}))
    assert found.pay == Pay(minimum=90_000, maximum=120_000, currency="USD", period="year")
    assert of_page(script({**CLERK, "estimatedSalary": [estimated]})).salary == "$120,000 - $150,000 a year"


def test_sections_outside_the_description_are_added_once() -> None:
    inside = {**CLERK, "description": "<p>Keep files.</p><p>Know SQL.</p>", "qualifications": "Know SQL."}
    assert of_page(script(inside)).description == "Keep files.\nKnow SQL."
    outside = {**CLERK, "description": "<p>Keep files.</p>", "qualifications": ["<li>SQL</li>", "Order"]}
    assert of_page(script(outside)).description == "Keep files.\nQualifications\nSQL\nOrder"


def test_openings_advertised_beside_it_are_not_the_pages_own() -> None:
    others = [{**CLERK, "title": f"Cook {n}", "url": f"https://careers.acme.example/jobs/{n}-cook"} for n in range(3)]
    own = {**CLERK, "url": "/jobs/7-clerk"}
    assert of_page(script([*others, own])).title == "Clerk & Archivist"
    named = posting_of_page(f"<h1>Cook 2</h1>{script(others)}", URL, NOW)
    assert (named.title, named.url) == ("Cook 2", URL)
    assert of_page(script(others), "<title>Porter</title>").title == "Porter"


def test_all_openings_of_a_list() -> None:
    postings = jsonld_postings(
        page(script([CLERK, {**CLERK, "title": "Cook", "url": "/jobs/8"}, {"@type": "JobPosting"}])), URL, NOW
    )
    assert [(posting.title, posting.url) for posting in postings] == [
        ("Clerk & Archivist", URL),
        ("Cook", "https://careers.acme.example/jobs/8"),
    ]


def test_an_address_that_is_none_of_the_web_is_not_taken() -> None:
    for url in ("javascript:alert(1)", "data:text/html,x", "//", 7, None, {"a": 1}):
        assert jsonld_postings(script({**CLERK, "url": url}), URL, NOW)[0].url == URL


MICRODATA = """
<title>Acme Clerk | Board</title>
<main itemscope itemtype="http://schema.org/JobPosting">
  <h1 itemprop="title">Clerk</h1>
  <div itemprop="hiringOrganization" itemscope itemtype="https://schema.org/Organization">
    <meta itemprop="name" content="Acme"><a itemprop="sameAs" href="https://acme.example/">site</a>
  </div>
  <span itemprop="jobLocation" itemscope itemtype="http://schema.org/Place">
    <span itemprop="address" itemscope itemtype="http://schema.org/PostalAddress">
      <span itemprop="addressLocality">Oslo</span>, <span itemprop="addressCountry">Norway</span>
    </span>
  </span>
  <time itemprop="datePosted" datetime="2026-11-20T10:00:00Z">two days ago</time>
  <div itemprop="description"><p>Keep files.</p><div itemprop="qualifications"><ul><li>SQL</li></ul></div></div>
</main>
"""


def test_microdata() -> None:
    assert posting_of_page(MICRODATA_PAGE, URL, NOW) == Posting(
        url=URL,
        title="Clerk",
        company="Acme",
        company_website="https://acme.example/",
        location="Oslo, Norway",
        places=(PlaceFields(city="Oslo", country="Norway"),),
        description="Keep files.\nSQL",
        posted_at=day(2026, 11, 20) + 36_000,
    )


MICRODATA_PAGE = f"<html><body>{MICRODATA}</body></html>"

TEXT = "<p>You keep our files in order and find them again when somebody asks for one.</p>" * 4
LABELLED = f"""
<html><head><title>Candidate Portal</title><meta name="title" content="Clerk - Night Shift"></head><body>
<nav><a href="/">Home</a><span>Location</span></nav>
<h2 class="title">Clerk - Night Shift</h2>
<dl><dt>Location</dt><dd>Oslo</dd><dt>Req ID</dt><dd>R-7</dd></dl>
<table><tr><th>Salary:</th><td>$30 - $40 an hour</td></tr></table>
<div><span>Posted On</span><!-- --><span>08 May 2026</span></div><div><span>Closing date</span><b>31 Dec 2026</b></div>
<p><strong>Modalidad de trabajo:</strong> Presencial</p><p>Job type: Full-Time</p>
<div class="job-description">{TEXT}</div>
<footer>Location: nowhere</footer></body></html>
"""


def test_a_page_that_has_labels_only() -> None:
    found = posting_of_page(LABELLED, URL, NOW)
    assert found.description.startswith("You keep our files")
    assert found.model_copy(update={"description": ""}) == Posting(
        url=URL,
        title="Clerk - Night Shift",
        external_id="R-7",
        location="Oslo",
        posted_at=day(2026, 5, 8),
        salary="$30 - $40 an hour",
        workplace="onsite",
        employment_type="full-time",
        extra={"valid_through": day(2026, 12, 31)},
    )


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title>Clerk | Acme Careers</title>", "<h1>Join our team</h1>", "Clerk"),
        ("<title>Clerk - Acme</title>", "<h1>Acme</h1>", "Clerk"),
        ("<title>Acme</title><meta property='og:title' content='Clerk at Acme'>", "", "Clerk"),
        ("<title>Job Application for Clerk at Acme</title>", "<h1>Clerk</h1><h1>Clerk II</h1>", "Clerk"),
        ("<title>Careers</title>", "<h1>Open Positions</h1><h2 class='job-title'>Clerk (m/w/d)</h2>", "Clerk (m/w/d)"),
        ("<title>Clerk - Files - Acme</title>", "<h1>Clerk - Files</h1>", "Clerk - Files"),
        ("<title>404 Not Found</title>", "", ""),
        ("<title>Acme - Clerk</title>", "<h1>Acme</h1>", "Clerk"),
        ("<title>Lever</title>", "<div class='posting-headline'><h2>Clerk</h2></div>", "Clerk"),
    ],
)
def test_the_title_of_a_page_that_does_not_say_it_outright(head: str, body: str, title: str) -> None:
    assert posting_of_page(f"<html><head>{head}</head><body>{body}</body></html>", URL, NOW).title == title


def test_places_and_dates_that_only_their_form_or_class_tells() -> None:
    found = posting_of_page("<h1>Clerk</h1><p>Posted 3 days ago</p><div class='location'>Oslo /</div>", URL, NOW)
    assert (found.location, found.posted_at) == ("Oslo", NOW - 3 * 86_400)
    assert posting_of_page("<h1>Clerk</h1><p>Posted on this page are all openings</p>", URL, NOW).posted_at is None


def test_text_of_templates_is_no_text_of_an_opening() -> None:
    template = "<main><h1>{{ job.title }}</h1><div class='job-description'>" + "{{ job.text }} of an opening " * 30
    found = posting_of_page(template, URL, NOW)
    assert (found.title, found.description) == ("", "")


def test_a_page_without_anything_gives_nothing() -> None:
    assert posting_of_page("", URL, NOW) == Posting(url=URL)
    assert jsonld_postings("", URL, NOW) == []


HOSTILE = {
    "nested": "<div>" * 100_000 + TEXT,
    "navs": "<nav>" * 300 + "<aside>" * 50 + TEXT + "</nav>" * 300 + LABELLED,
    "many navs": "<nav><aside>x</aside></nav>" * 100_000,
    "labels": "<div>" + "<b>Location</b>" * 100_000 + "</div>",
    "headings": f"<h1>{'Clerk - ' * 100_000}</h1>" + "<h1>Clerk - Acme | Jobs</h1>" * 10_000,
    "five megabytes": "<p>You keep our files in order. </p>" * 150_000,
    "described": "<div class='job-description'>" * 300 + TEXT * 10_000,
    "properties": "<div itemscope itemtype='JobPosting'>" + "<p itemprop='title'>x</p>" * 50_000,
    "scopes": "<div itemprop='jobLocation' itemscope itemtype='JobPosting'>" * 20_000,
    "properties within": "<div itemscope itemtype='JobPosting'>" + "<div itemprop='description'>" * 300 + TEXT * 10_000,
    "objects": script([CLERK] * 3_000),
    "deep object": script('{"@graph":' * 900 + "{}" + "}" * 900),
    "brackets": "<title>" + "[|" * 300_000 + "</title>",
    "spaces": "<title>Clerk" + " " * 1_000_000 + "</title>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_read_to_an_end(name: str) -> None:
    found = posting_of_page(HOSTILE[name], URL, NOW)
    assert found.url == URL
    assert len(found.title) <= 500
    assert len(found.description) <= 200_000


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["@type", "name", "value", "address", "minValue", "url", "@graph"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*CLERK, "url", "jobLocationType", "qualifications"]), values))
@example({"datePosted": 10**400, "baseSalary": 10**400, "identifier": float("nan"), "title": "\ud800"})
@example({"jobLocation": [[{"address": [[]]}]], "description": {"@value": ["x"]}, "url": "http://[::1"})
def test_no_jobposting_raises(item: dict[str, Any]) -> None:
    item = {**item, "@type": "JobPosting", "title": item.get("title") or "Clerk"}
    for posting in jsonld_postings(script(item), URL, NOW):
        assert posting.url.startswith("http")
        assert posting.model_dump_json()


@given(st.text(alphabet="<>/=\"' abdhilmnoprtsv-{}[]:,1\n&;", max_size=400))
@example("<script type=application/ld+json>")
@example("<div itemscope itemtype=JobPosting><p itemprop=title itemscope>x</p></div>")
def test_no_page_raises(html: str) -> None:
    assert posting_of_page(html, URL, NOW).url == URL
