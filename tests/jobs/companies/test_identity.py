"""A company's website as one address, and the key of its record."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.companies.identity import company_id_of, company_urls, website_of
from ramet.jobs.errors import InputError
from tests.jobs.corpus import corpus_file


@pytest.mark.parametrize(
    ("text", "website", "company_id"),
    [
        ("acme.com", "https://acme.com/", "acme.com"),
        ("  http://WWW.Acme.com:80/about?x=1#y ", "https://www.acme.com/", "acme.com"),
        ("//acme.co.uk", "https://acme.co.uk/", "acme.co.uk"),
        ("https://careers.acme.co.uk/jobs/1", "https://careers.acme.co.uk/", "acme.co.uk"),
        ("https://München.de/", "https://xn--mnchen-3ya.de/", "xn--mnchen-3ya.de"),
        ("https://acme.com./", "https://acme.com/", "acme.com"),
        # A host that many share: what is one owner's is the company.
        ("https://acme.github.io/site/", "https://acme.github.io/", "acme.github.io"),
        ("acme.wordpress.com", "https://acme.wordpress.com/", "acme.wordpress.com"),
        ("https://www.wordpress.com/pricing", "https://www.wordpress.com/", "wordpress.com"),
        ("https://www.github.io/", "https://www.github.io/", "github.io"),
        (
            "https://sites.google.com/view/acme/home",
            "https://sites.google.com/view/acme/",
            "sites.google.com/view/acme",
        ),
        ("https://jane.wixsite.com/acme/team", "https://jane.wixsite.com/acme/", "jane.wixsite.com/acme"),
        # Those who make boards are companies as well.
        ("https://www.greenhouse.io/about", "https://www.greenhouse.io/", "greenhouse.io"),
        ("https://github.com", "https://github.com/", "github.com"),
    ],
)
def test_a_website_is_one_address_and_one_key(text: str, website: str, company_id: str) -> None:
    assert website_of(text) == website
    assert website_of(website) == website
    assert company_id_of(text, None) == company_id
    assert company_id_of(text, "Other Name") == company_id


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no address"),
        ("Acme Inc", "is not a valid address"),
        ("acme", "no public name"),
        ("localhost", "no public name"),
        ("http://localhost:8000/", "has a port"),
        ("http://127.0.0.1/", "address of a machine"),
        ("http://[::1]/", "address of a machine"),
        ("http://0x7f.1/", "no"),
        ("https://10.0.0.8:443/", "address of a machine"),
        ("mailto:jobs@acme.com", "is not a valid address of a web page"),
        ("jobs@acme.com", "mail address"),
        ("https://user:secret@acme.com/", "user's name"),
        ("javascript:alert(1)", "is not a valid address of a web page"),
        ("ftp://acme.com/", "is not a valid address of a web page"),
        ("https://careers.turtlemint", "no public name"),
        ("https://co.uk/", "no public name"),
        ("https://boards.greenhouse.io/acme", "job board"),
        ("https://jobs.lever.co/acme", "job board"),
        ("https://acme.wd5.myworkdayjobs.com/External", "job board"),
        ("https://acme.recruitee.com/", "job board"),
        ("https://www.linkedin.com/company/acme", "pages about companies"),
        ("https://www.indeed.com/cmp/Acme", "pages about companies"),
        ("indeed.com", "pages about companies"),
        ("https://github.com/acme", "pages about companies"),
        ("https://acme.com:99999/", "is not a valid address"),
        ("https://a\u0000b.com", "is not a valid address"),
        ("https://" + "a" * 3_000 + ".com", "is not a valid address"),
    ],
)
def test_what_is_no_website_of_a_company_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        website_of(text)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_company_without_a_website_goes_by_its_name() -> None:
    assert company_id_of(None, "Acme, Inc.") == "name:acme"
    assert company_id_of(" ", "Acme GmbH") == "name:acme"
    # A listing often names a directory's page as the company's.
    assert company_id_of("https://www.linkedin.com/company/acme", "Acme") == "name:acme"


def test_a_company_with_neither_is_refused() -> None:
    with pytest.raises(InputError, match="a website or a name"):
        company_id_of(None, "  ")
    with pytest.raises(InputError, match="pages about companies"):
        company_id_of("https://www.linkedin.com/company/acme", None)


def test_five_pages_of_a_website_are_looked_at_home_first() -> None:
    assert company_urls("https://acme.com/") == [
        "https://acme.com/",
        "https://acme.com/about",
        "https://acme.com/about-us",
        "https://acme.com/company",
        "https://acme.com/careers",
    ]
    assert company_urls(website_of("https://sites.google.com/view/acme/x"))[4] == (
        "https://sites.google.com/view/acme/careers"
    )


_PIECES = ["http", "https", ":", "/", "//", "@", ".", "com", "acme", "ü", "[", "]", "%", "?", "#", ":443", "\\", " "]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)))
def test_any_text_is_a_website_or_refused(text: str) -> None:
    try:
        website = website_of(text)
    except InputError:
        return
    assert website_of(website) == website
    assert urlsplit(website).scheme == "https"
    assert company_id_of(website, None)


def test_recorded_websites_are_taken_but_for_one_without_a_public_name() -> None:
    lines = corpus_file("companies/profiles_dev.jsonl").read_text(encoding="utf-8").splitlines()
    refused = []
    for line in lines:
        website = json.loads(line)["expected"]["website"]
        try:
            website_of(website)
        except InputError:
            refused.append(website)
    assert len(lines) == 130
    assert refused == ["https://careers.turtlemint"]
