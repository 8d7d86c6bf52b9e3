"""The board that an address belongs to, from the address alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ramet.jobs.detection.addresses import board_of_url
from ramet.jobs.detection.findings import GUESSED, Confidence, DetectedBoard
from ramet.jobs.detection.patterns import vendor_names

BOARDS: dict[str, tuple[str, str | None]] = {
    "https://boards.greenhouse.io/acme": ("greenhouse", "acme"),
    "https://job-boards.greenhouse.io/acme/jobs/4000": ("greenhouse", "acme"),
    "https://BOARDS.Greenhouse.IO/Acme": ("greenhouse", "Acme"),
    "https://boards.greenhouse.io/embed/job_board?for=acme": ("greenhouse", "acme"),
    "https://boards.greenhouse.io/embed/job_board/js?b=1&for=acme": ("greenhouse", "acme"),
    "https://boards.greenhouse.io/embed/job_app?for=acme&token=123": ("greenhouse", "acme"),
    "https://boards-api.greenhouse.io/v1/boards/acme/jobs?content=true": ("greenhouse", "acme"),
    "https://jobs.lever.co/acme/0aa/apply": ("lever", "acme"),
    "https://api.lever.co/v0/postings/acme?mode=json": ("lever", "acme"),
    "https://jobs.ashbyhq.com/Acme%20Labs/123": ("ashby", "Acme Labs"),
    "https://api.ashbyhq.com/posting-api/job-board/acme?includeCompensation=true": ("ashby", "acme"),
    "https://jobs.smartrecruiters.com/Acme1/744-clerk": ("smartrecruiters", "Acme1"),
    "https://jobs.smartrecruiters.com/oneclick-ui/company/Acme1/publication/1": ("smartrecruiters", "Acme1"),
    "https://api.smartrecruiters.com/v1/companies/Acme1/postings": ("smartrecruiters", "Acme1"),
    "https://apply.workable.com/acme/j/655E1BCA22/apply": ("workable", "acme"),
    "https://apply.workable.com/api/v1/widget/accounts/acme?details=true": ("workable", "acme"),
    "https://apply.workable.com/api/v3/accounts/acme/jobs": ("workable", "acme"),
    "https://acme.workable.com/": ("workable", "acme"),
    "https://jobs.workable.com/company/aX9/jobs-at-acme-health": ("workable", "acme-health"),
    "https://acme.recruitee.com/o/clerk": ("recruitee", "acme"),
    "https://acme.jobs.personio.de/job/1?language=en": ("personio", "acme"),
    "https://acme.jobs.personio.com/xml": ("personio", "acme"),
    "https://acme.pinpointhq.com/en/postings/1": ("pinpoint", "acme"),
    "https://acme.breezy.hr/p/1-clerk": ("breezy", "acme"),
    "https://acme.bamboohr.com/careers/7": ("bamboohr", "acme"),
    "https://jobs.jobvite.com/acme/job/oYM0?nl=1": ("jobvite", "acme"),
    "https://jobs.jobvite.com/careers/acme/jobs": ("jobvite", "acme"),
    "https://ats.rippling.com/en-GB/acme/jobs/1": ("rippling", "acme"),
    "https://ats.rippling.com/acme/jobs": ("rippling", "acme"),
    "https://jobs.gem.com/acme/am9i": ("gem", "acme"),
    "https://api.gem.com/job_board/v0/acme/job_posts/": ("gem", "acme"),
    "https://join.com/companies/acme/1-clerk": ("join", "acme"),
    "https://ats.rippling.com/api/v2/board/acme/jobs": ("rippling", "acme"),
    "https://acme.eightfold.ai/careers?domain=acme.com&query=cook": ("eightfold", "acme"),
    "https://acme.eightfold.ai/careers/job/77001": ("eightfold", "acme"),
    "https://career4.successfactors.com/career?company=ACME&career_ns=job_listing": ("successfactors", "ACME"),
    "https://career17.sapsf.com/career?company=ACME": ("successfactors", "ACME"),
    "https://phe.tbe.taleo.net/phe01/ats/careers/v2/viewRequisition?org=ACME&cws=37&rid=815": ("taleo", "ACME"),
    "https://acme.jibeapply.com/jobs/5150": ("jibe", "acme"),
    "https://acme.applytojob.com/apply/jobs/details/Qx7Zt1?&": ("jazzhr", "acme"),
    "https://recruiting.paylocity.com/Recruiting/Jobs/All/8759d8d9/Acme-Inc": ("paylocity", "8759d8d9"),
    "https://recruiting2.ultipro.com/ACM1000/JobBoard/132b6065/OpportunityDetail?opportunityId=2": ("ukg", "ACM1000"),
    "https://workforcenow.adp.com/mascsr/default/mdf/recruitment/recruitment.html?cid=0b10&ccId=19_1": ("adp", "0b10"),
    "https://us58.dayforcehcm.com/CandidatePortal/en-US/acme/Posting/View/12": ("dayforce", "acme"),
    "https://acme.avature.net/en_US/careers/SearchJobs": ("avature", "acme"),
    "https://www.comeet.com/jobs/acme/12.345/night-cook/7A.001": ("comeet", "acme"),
    "https://acme.softgarden.io/job/48001/Night-Cook": ("softgarden", "acme"),
    "https://news.ycombinator.com/item?id=4004": ("hackernews", "4004"),
    "https://hn.algolia.com/api/v1/items/4004": ("hackernews", "4004"),
    "https://remoteok.com/remote-dev-jobs": ("remoteok", None),
    "https://remotive.com/remote-jobs/software-dev": ("remotive", None),
    "https://himalayas.app/jobs/countries/france": ("himalayas", None),
    "https://www.arbeitnow.com/remote-jobs": ("arbeitnow", None),
    "https://www.amazon.jobs/en/jobs/1/cook": ("amazon", None),
    "https://careers-acme.icims.com/jobs/1/clerk/job?in_iframe=1": ("icims", "careers-acme"),
    "https://acme.teamtailor.com/jobs/1-clerk": ("teamtailor", "acme"),
    "https://acme.na.teamtailor.com/jobs": ("teamtailor", "acme"),
}


def found(url: str) -> DetectedBoard:
    answer = board_of_url(url)
    assert answer is not None, url
    return answer


@pytest.mark.parametrize("url", BOARDS)
def test_a_vendors_address_tells_the_vendor_and_the_board(url: str) -> None:
    answer = found(url)
    assert (answer.kind, answer.token) == BOARDS[url]
    assert answer.via == "url"


@pytest.mark.parametrize("url", BOARDS)
def test_the_address_that_is_given_back_is_one_of_the_same_board(url: str) -> None:
    answer = found(url)
    again = found(answer.url)
    assert (again.key, again.url) == (answer.key, answer.url)


def test_every_vendor_of_the_table_has_an_address_here() -> None:
    kinds = {kind for kind, _ in BOARDS.values()} | {"workday", "oracle_hcm"}
    assert kinds == vendor_names()


def test_the_addresses_of_a_vendor_that_name_no_board_are_of_none() -> None:
    for url in ("https://workforcenow.adp.com/mascsr/default/mdf/recruitment/recruitment.html?cid=0b10",):
        assert board_of_url(url) is None
    # A domain of which one host only is a vendor's.
    for url in ("https://www.ycombinator.com/companies/acme/jobs", "https://www.adp.com/careers"):
        answer = found(url)
        assert answer.kind == "generic"


def test_a_site_of_ones_own_that_phenom_made_is_told_by_its_addresses() -> None:
    answer = found("https://careers.acme.example/us/en/search-results?keywords=cook")
    assert (answer.kind, answer.token) == ("phenom", None)
    assert answer.ids == {"host": "careers.acme.example", "country": "us", "lang": "en"}


def test_boards_in_europe_are_told_apart() -> None:
    for url in ("https://jobs.eu.lever.co/acme", "https://job-boards.eu.greenhouse.io/acme"):
        assert found(url).ids == {"region": "eu"}
        assert ".eu." in found(url).url


WORKDAY = {
    "https://acme.wd5.myworkdayjobs.com/External": "External",
    "https://acme.wd5.myworkdayjobs.com/en-US/External/job/Oslo/Clerk_R1": "External",
    "https://acme.wd5.myworkdayjobs.com/en-us/external": "external",
    "https://acme.wd5.myworkdayjobs.com/fr/External/": "External",
    "https://acme.wd5.myworkdayjobs.com/wday/cxs/acme/External/jobs": "External",
    "https://acme.wd5.myworkdayjobs.com/jobs": "jobs",
    "https://acme.wd5.myworkdayjobs.com/JJ/job/Oslo/Clerk_R1": "JJ",
    "https://acme.wd5.myworkdayjobs.com/JJ": "JJ",
}


@pytest.mark.parametrize("url", WORKDAY)
def test_a_site_of_workday_keeps_its_case_and_loses_its_language(url: str) -> None:
    answer = found(url)
    site = WORKDAY[url]
    assert answer.ids == {"tenant": "acme", "host": "acme.wd5.myworkdayjobs.com", "instance": "wd5", "site": site}
    assert answer.url == f"https://acme.wd5.myworkdayjobs.com/{site}"


def test_sites_that_many_tenants_of_workday_share_a_host_of() -> None:
    answer = found("https://wd1.myworkdaysite.com/en-US/recruiting/acme/Experienced/job/1")
    assert answer.ids == {"tenant": "acme", "host": "wd1.myworkdaysite.com", "instance": "wd1", "site": "Experienced"}
    assert answer.url == "https://wd1.myworkdaysite.com/recruiting/acme/Experienced"


def test_workday_without_a_site_has_to_be_looked_at() -> None:
    for path in ("", "/", "/en-US", "/wday/authgwy/acme/login.htmld"):
        answer = board_of_url(f"https://acme.wd5.myworkdayjobs.com{path}")
        assert answer is None or (answer.token is None and answer.confidence is Confidence.MEDIUM)


def test_oracle_is_a_host_and_a_site() -> None:
    answer = found("https://abcd.fa.us6.oraclecloud.com/hcmUI/CandidateExperience/en/sites/CX_1/jobs?mode=location")
    assert answer.ids == {"host": "abcd.fa.us6.oraclecloud.com", "site": "CX_1"}
    own = found("https://careers.acme.example/en/sites/CX/jobs")
    assert (own.kind, own.ids, own.confidence) == (
        "oracle_hcm",
        {"host": "careers.acme.example", "site": "CX"},
        Confidence.MEDIUM,
    )


@pytest.mark.parametrize(
    ("parameter", "kind"),
    [("gh_jid=7", "greenhouse"), ("GH_SRC=x", "greenhouse"), ("ashby_jid=u-u", "ashby"), ("lever-source=x", "lever")],
)
def test_a_parameter_tells_the_vendor_of_a_companys_own_page_but_not_the_board(parameter: str, kind: str) -> None:
    answer = found(f"https://acme.example/careers?team=x&{parameter}")
    assert (answer.kind, answer.token, answer.confidence) == (kind, None, Confidence.MEDIUM)


@pytest.mark.parametrize(
    "url",
    [
        "https://acme.example/careers/jobs.rss",
        "https://acme.example/jobs/feed/",
        "https://acme.example/atom.xml",
        "https://acme.example/googlefeed.xml",
        "https://acme.example/xml/jobs-en.xml",
        "https://acme.example/search?q=x&format=rss",
    ],
)
def test_feeds_say_so_in_their_address(url: str) -> None:
    assert (found(url).kind, found(url).url, found(url).confidence) == ("rss", url, Confidence.HIGH)


def test_a_sitemap_is_no_feed() -> None:
    assert found("https://careers.acme.example/sitemap.xml").kind == "generic"


def test_a_habit_is_a_guess_that_has_to_be_tried() -> None:
    answer = found("https://careers.acme.example/jobs")
    assert (answer.kind, answer.url) == ("rss", "https://careers.acme.example/jobs.rss")
    assert (answer.via, answer.confidence) == (GUESSED, Confidence.LOW)
    assert answer.ids == {"page": "https://careers.acme.example/jobs"}


@pytest.mark.parametrize("url", ["https://acme.example/careers", "https://karriere.acme.example/", "https://a.b/x"])
def test_a_companys_own_page_is_generic(url: str) -> None:
    assert (found(url).kind, found(url).url, found(url).confidence) == ("generic", url, Confidence.LOW)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "acme.example/careers",
        "javascript:alert(1)//boards.greenhouse.io/acme",
        "data:text/html,https://jobs.lever.co/acme",
        "ftp://boards.greenhouse.io/acme",
        "https://",
        "https://localhost/careers",
        "https://[::1]/careers",
        "https://[bad/careers",
        "https://acme.example:99999/careers",
        "https://www.greenhouse.io/customers",
        "https://cdn.lever.co/embed/v1/lever-jobs.css",
        "https://jobs.lever.co/",
        "https://apply.workable.com/",
        "https://acme.bamboohr.com/login.php",
        "https://www.bamboohr.com/careers",
        "https://careers-analytics.recruitee.com/script.js",
        "https://www.linkedin.com/company/acme/jobs",
        "https://de.linkedin.com/jobs",
        "https://acme.example/" + "a" * 5_000,
    ],
)
def test_what_is_no_board_is_none(url: str) -> None:
    assert board_of_url(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://boards.greenhouse.io/embed.js",
        "https://boards.greenhouse.io/embed/job_app?token=4000",
        "https://jobs.lever.co/js/embed.js",
        "https://jobs.ashbyhq.com/${company}",
    ],
)
def test_reserved_words_files_and_templates_are_no_boards_name(url: str) -> None:
    assert found(url).token is None
    assert found(url).confidence is Confidence.MEDIUM


def test_another_host_in_the_path_or_before_an_at_sign_does_not_count() -> None:
    assert found("https://evil.example/jobs.lever.co/acme").kind == "generic"
    assert found("https://jobs.lever.co@evil.example/acme").kind == "generic"
    assert found("https://jobs.lever.co.evil.example/acme").kind == "generic"
    assert "@" not in found("https://user:secret@careers.acme.example/x").url


@given(
    st.text(max_size=300) | st.from_regex(r"https://[a-z.]{0,40}(/[a-zA-Z0-9%?=&{}\[\]-]{0,40}){0,4}", fullmatch=True)
)
@example("https://jobs.lever.co/%00%ff%zz")
@example("http://\u2100.greenhouse.io/acme")
@example("https://acme.wd5.myworkdayjobs.com/%2e%2e/%2f")
def test_no_address_raises_and_none_leaves_the_web(url: str) -> None:
    answer = board_of_url(url)
    if answer is not None:
        assert answer.url.startswith(("http://", "https://"))
        assert json.loads(json.dumps(answer.ids)) == answer.ids
        assert board_of_url(answer.url) is not None
