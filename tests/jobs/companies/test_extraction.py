"""The facts of a company from its pages, each with what made it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.companies.extraction import read_company
from ramet.jobs.companies.facts import CompanyFacts, WebPage
from ramet.jobs.settings import CompanySettings
from ramet.jobs.text.places import is_at

ABOUT = "Acme builds quiet robots for small kitchens, and the people who cook in them. " * 2
VALUES = "We tell each other the truth, we finish what we begin, and nobody works on Fridays after four."


def page(path: str, body: str, head: str = "") -> WebPage:
    return WebPage(f"https://www.acme.com/{path}", f"<html><head>{head}</head><body>{body}</body></html>")


def ld(value: Any) -> str:
    return f'<script type="application/ld+json">{value if isinstance(value, str) else json.dumps(value)}</script>'


ORGANIZATION = {
    "@context": "https://schema.org",
    "@graph": [
        {"@type": "WebSite", "name": "Blog"},
        {
            "@type": ["Corporation"],
            "name": "Acme, Inc.",
            "description": ABOUT,
            "foundingDate": "2010-04-01",
            "numberOfEmployees": {"@type": "QuantitativeValue", "minValue": 51, "maxValue": 200},
            "address": {"@type": "PostalAddress", "addressLocality": "Portland", "addressRegion": "OR"},
            "industry": "Robotics",
        },
    ],
}


def test_json_ld_is_believed_before_all_else_and_a_broken_script_hides_nothing() -> None:
    head = ld("") + ld('{"@type": "Organization", "name": ') + ld(ORGANIZATION)
    facts = read_company(
        [page("", "<p>Founded in 1999. 12 employees.</p>", head + '<meta name="description" content="Other.">')], None
    )
    assert (facts.name, facts.founded, facts.size, facts.company_size_category, facts.industry) == (
        "Acme, Inc.",
        "2010",
        "51-200 employees",
        "medium",
        "Robotics",
    )
    assert facts.about == ABOUT.strip()
    assert facts.headquarters_location == "Portland, OR"
    assert [is_at(place, "Portland", "OR") for place in facts.offices] == [True]
    assert {facts.methods[field] for field in ("name", "about", "founded", "size", "headquarters_location")} == {
        "json-ld"
    }


def test_meta_then_paragraphs_then_headings() -> None:
    home = page("", "<h1>Acme</h1>", '<meta property="og:site_name" content="Acme"><title>Robots | Acme</title>')
    about = page("about", f"<nav><p>{VALUES}</p></nav><h1>Robots</h1><p>{ABOUT}</p><h2>Our mission</h2><p>{VALUES}</p>")
    careers = page(
        "careers", f"<h2><div>Life at Acme</div></h2><p>{VALUES}</p><h2>Apply</h2><p>Send us your letter.</p>"
    )
    facts = read_company([home, about, careers], None)
    assert (facts.name, facts.methods["name"]) == ("Acme", "meta")
    assert (facts.about, facts.methods["about"]) == (ABOUT.strip(), "paragraphs")
    assert (facts.culture, facts.methods["culture"]) == (VALUES, "headings")
    assert (facts.mission, facts.methods["mission"]) == (VALUES, "headings")
    described = page("about", f"<p>{VALUES}</p>", f'<meta name="description" content="{ABOUT}">')
    assert read_company([described], None).methods["about"] == "meta"
    # A description that is too short to be good is passed over for one that is, wherever that stands.
    short = page("", "<h1>Acme</h1>", '<meta name="description" content="Robots for kitchens.">')
    assert read_company([short, about], None).about == ABOUT.strip()


def test_single_statements_are_the_last_resort() -> None:
    facts = read_company(
        [page("company", "<p>Acme is a robotics company. Founded in 2012, headquartered in Oslo, Norway.</p>"
              "<p>Over 1,200 people work here.</p>")], "Acme"
    )  # fmt: skip
    assert facts.methods == {
        "name": "given",
        "about": "paragraphs",
        "headquarters_location": "pattern",
        "industry": "pattern",
        "founded": "pattern",
        "size": "pattern",
        "company_size_category": "pattern",
        "offices": "pattern",
    }
    assert (facts.founded, facts.headquarters_location, facts.industry) == ("2012", "Oslo, Norway", "robotics")
    assert (facts.size, facts.company_size_category) == ("1,200 employees", "medium")


def test_values_in_a_list_and_below_smaller_headings_are_a_culture() -> None:
    listed = page("about", "<h2>Our values</h2><ul><li>Be kind<li>Own it<li>Write it down</ul><h2>Press</h2>")
    assert read_company([listed], None).culture == "Be kind; Own it; Write it down"
    parts = page("about", f"<h2>Our values</h2><h3>Truth</h3><p>{VALUES}</p><h3>Rest</h3><p>{VALUES}</p><h2>Press</h2>")
    assert read_company([parts], None).culture == f"Truth: {VALUES}\nRest: {VALUES}"


def test_pages_in_other_languages_have_the_same_headings() -> None:
    text = "Wir bauen leise Roboter für kleine Küchen und für alle, die darin gerne kochen und backen."
    values = "Wir sagen einander die Wahrheit und bringen zu Ende, was wir begonnen haben, jede Woche."
    body = f"<h2>Über uns</h2><p>{text}</p><h2>Unsere Werte</h2><p>{values}</p><p>120 Mitarbeiterinnen.</p>"
    facts = read_company([page("", f"{body}<dl><dt>Hauptsitz</dt><dd>Kiel, Germany</dd></dl>")], "Acme")
    assert facts.about == text
    assert facts.culture == values
    assert facts.size == "120 employees"
    assert facts.headquarters_location == "Kiel, Germany"


def test_portland_in_maine_is_not_portland_in_oregon() -> None:
    facts = read_company([page("about", "<h2>Offices</h2><p>Portland, Maine</p><p>Berlin, Germany</p>")], "Acme")
    assert [place.city for place in facts.offices] == ["Portland", "Berlin"]
    assert not any(is_at(place, "Portland", "OR") for place in facts.offices)
    assert facts.methods["offices"] == "headings"


def test_technologies_are_whole_words_and_the_most_mentioned_comes_first() -> None:
    body = "<p>Write to us by email about our aims or jobs. We use Python, C# and Kubernetes. Python is everywhere.</p>"
    facts = read_company([page("careers", body)], "Acme")
    assert facts.tech_stack[0] == "python"
    assert set(facts.tech_stack) == {"python", "c#", "kubernetes"}


def test_what_flags_a_company_is_shown() -> None:
    body = "<p>We are a fully remote company. We train large language models; machine learning is all we do.</p>"
    facts = read_company([page("about", body)], "Acme")
    assert facts.remote_first
    assert facts.ai_ml
    assert facts.evidence["remote_first"] == ("We are a fully remote",)
    assert facts.methods["ai_ml"] == "pattern"


def test_two_addresses_of_one_page_count_once_and_no_page_tells_nothing() -> None:
    one = page("about", "<p>Machine learning.</p>")
    again = WebPage("https://www.acme.com/about-us", one.html)
    assert read_company([one, again], "Acme") == read_company([one], "Acme")
    assert read_company([], None) == CompanyFacts()
    assert read_company([WebPage("https://acme.com/", " ")], "Acme") == CompanyFacts(
        name="Acme", methods={"name": "given"}
    )


def test_the_name_in_a_title_is_the_part_that_the_host_is_named_after() -> None:
    facts = read_company([page("", "<p>x</p>", "<title>Quiet robots – Acme</title>")], None)
    assert (facts.name, facts.methods["name"]) == ("Acme", "meta")
    assert read_company([page("", "<p>x</p>", "<title>Welcome | Home</title>")], None).name is None


def test_lengths_are_settings() -> None:
    body = f"<p>{ABOUT * 40}</p>"
    facts = read_company([page("about", body)], "Acme", CompanySettings(text_max=200))
    assert 100 < len(facts.about or "") <= 200


def test_facts_come_back_from_json() -> None:
    facts = read_company([page("", "<p>We are a fully remote company.</p>", ld(ORGANIZATION))], None)
    assert facts.remote_first
    assert CompanyFacts.from_json(json.loads(json.dumps(facts.as_json()))) == facts


_PIECES = [
    "<h2>", "</h2>", "<p>", "</p>", "<nav>", "</nav>", "Our values", "<script type='application/ld+json'>", "</script>",
    '{"@type":"Organization","name":', '"a"}', "[[", "<meta name=description content='", "'>", "51-200 employees",
    "founded in 2012", "headquartered in ", "Oslo", "<title>", "\ufdd0", "\ufdd09", "&#0;", "&#xFDD0;", "\ud800", "\n",
    "team of ", "9" * 30, "<!--", "<![CDATA[",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=25).map("".join), st.sampled_from(["", "about", "careers", "x["]))
def test_any_markup_gives_facts(html: str, path: str) -> None:
    facts = read_company([WebPage(f"https://acme.com/{path}", html)], None)
    assert set(facts.methods) <= set(CompanyFacts.__dataclass_fields__)
    assert CompanyFacts.from_json(facts.as_json()) == facts


@given(st.from_type(dict), st.text(max_size=20))
def test_any_json_ld_gives_facts(value: dict[Any, Any], text: str) -> None:
    node = {"@type": "Organization", "name": [text], "numberOfEmployees": value, "address": [value, text, 1, None]}
    read_company([page("", "", ld(json.dumps(node, default=str, skipkeys=True)))], None)
