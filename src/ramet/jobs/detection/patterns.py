"""Where the vendors' boards are: tables. To add a vendor, add rows.

A row holds for one domain. Its expressions are matched without regard to case and with these groups: ``token``,
``tenant``, ``instance``, ``site``, ``region``. What they take is checked before it is believed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_NAME = r"(?P<token>[^/]{1,150})"
_SITE = r"(?P<site>[^/]{1,150})"
_LABEL = r"(?P<token>[a-z0-9-]{1,63})"
_LOCALE = r"(?:/[a-z]{2}[-_][a-z]{2}(?=/)|/[a-z]{2}(?=/(?!jobs?(?:/|$)|details/|login)[^/]))?"
"""``/en-US`` or ``/en``. Two letters alone may be a site of Workday too."""
_LANGUAGE = r"(?:/[a-z]{2}(?:[-_][a-z]{2})?(?=/))?"
_END = r"(?:/|$)"


class Pattern(NamedTuple):
    """One kind of address of a vendor."""

    kind: str
    domain: str
    labels: str
    """Of the whole of the host before the domain."""
    path: str = ""
    """Of the beginning of the path."""
    parameter: str = ""
    """The query's parameter that has the token."""
    board: str = "https://{host}/"
    """The board's address for people."""
    keeps: tuple[str, ...] = ()
    """What belongs into the finding's ``ids``."""


_GREENHOUSE = "https://boards{region}.greenhouse.io/{token}"
_LEVER = "https://jobs{region}.lever.co/{token}"
_ASHBY = "https://jobs.ashbyhq.com/{token}"
_WORKDAY = ("tenant", "host", "instance", "site")
_SMART = "https://careers.smartrecruiters.com/{token}"
_WORKABLE = "https://apply.workable.com/{token}/"
_RIPPLING = "https://ats.rippling.com/{token}/jobs"
_GEM = "https://jobs.gem.com/{token}"
_ORACLE = r"/hcmUI/CandidateExperience" + _LANGUAGE + rf"/sites/{_SITE}"
_ORACLE_BOARD = "https://{host}/hcmUI/CandidateExperience/en/sites/{site}"
_ORACLE_HOST = r"(?P<tenant>[a-z0-9-]{1,63})\..{1,100}"
_JOBVITE = "https://jobs.jobvite.com/{token}/jobs"

# fmt: off
PATTERNS: tuple[Pattern, ...] = (
    Pattern("greenhouse", "greenhouse.io", r"(?:job-)?boards(?P<region>\.eu)?", r"/embed/job_(?:board|app)\b", "for",
            _GREENHOUSE, ("region",)),
    Pattern("greenhouse", "greenhouse.io", r"(?:job-)?boards(?P<region>\.eu)?", f"/{_NAME}", "", _GREENHOUSE,
            ("region",)),
    Pattern("greenhouse", "greenhouse.io", r"(?:boards-)?api(?P<region>\.eu)?", f"/v1/boards/{_NAME}", "",
            _GREENHOUSE, ("region",)),
    Pattern("greenhouse", "grnh.se", ""),
    Pattern("lever", "lever.co", r"jobs(?P<region>\.eu)?", f"/{_NAME}", "", _LEVER, ("region",)),
    Pattern("lever", "lever.co", r"api(?P<region>\.eu)?", rf"/v\d/postings/{_NAME}", "", _LEVER, ("region",)),
    Pattern("ashby", "ashbyhq.com", "jobs", f"/{_NAME}", "", _ASHBY),
    Pattern("ashby", "ashbyhq.com", "api", f"/posting-api/job-board/{_NAME}", "", _ASHBY),
    Pattern("workday", "myworkdayjobs.com", r"(?P<tenant>[a-z0-9-]{1,63})\.(?P<instance>wd\d{1,4})",
            f"/wday/cxs/[^/]{{1,100}}/{_SITE}", "", "https://{host}/{site}", _WORKDAY),
    Pattern("workday", "myworkdayjobs.com", r"(?P<tenant>[a-z0-9-]{1,63})\.(?P<instance>wd\d{1,4})",
            f"{_LOCALE}/(?!wday/){_SITE}", "", "https://{host}/{site}", _WORKDAY),
    Pattern("workday", "myworkdaysite.com", r"(?:[a-z0-9-]{1,63}\.)?(?P<instance>wd\d{1,4})",
            rf"(?:{_LOCALE}/recruiting|/wday/cxs)/(?P<tenant>[^/]{{1,100}})/{_SITE}", "",
            "https://{host}/recruiting/{tenant}/{site}", _WORKDAY),
    Pattern("smartrecruiters", "smartrecruiters.com", "jobs|careers", f"/oneclick-ui/company/{_NAME}", "", _SMART),
    Pattern("smartrecruiters", "smartrecruiters.com", "jobs|careers", f"/{_NAME}", "", _SMART),
    Pattern("smartrecruiters", "smartrecruiters.com", "www", rf"/{_NAME}/\d", "", _SMART),
    Pattern("smartrecruiters", "smartrecruiters.com", "api", rf"/v\d/companies/{_NAME}", "", _SMART),
    Pattern("workable", "workable.com", "apply|www", rf"/api/(?:v\d/)?(?:widget/)?accounts/{_NAME}", "", _WORKABLE),
    Pattern("workable", "workable.com", "apply", f"/{_NAME}", "", _WORKABLE),
    Pattern("workable", "workable.com", "jobs", r"/company/[^/]{1,100}/jobs-at-(?P<token>[^/]{1,100})", "", _WORKABLE),
    Pattern("workable", "workable.com", _LABEL, "", "", _WORKABLE),
    Pattern("recruitee", "recruitee.com", _LABEL, "", "", "https://{host}/", ("host",)),
    Pattern("personio", "personio.de", rf"{_LABEL}\.jobs", "", "", "https://{host}/", ("host",)),
    Pattern("personio", "personio.com", rf"{_LABEL}\.jobs", "", "", "https://{host}/", ("host",)),
    Pattern("personio", "personio.de", _LABEL, "/recruiting/positions", "", "https://{token}.jobs.personio.de/"),
    Pattern("pinpoint", "pinpointhq.com", _LABEL, "", "", "https://{host}/", ("host",)),
    Pattern("oracle_hcm", "oraclecloud.com", _ORACLE_HOST, _ORACLE, "", _ORACLE_BOARD, ("host", "site")),
    Pattern("oracle_hcm", "oraclecloud.eu", _ORACLE_HOST, _ORACLE, "", _ORACLE_BOARD, ("host", "site")),
    Pattern("icims", "icims.com", _LABEL, "", "", "https://{host}/jobs/search", ("host",)),
    Pattern("breezy", "breezy.hr", _LABEL, "", "", "https://{host}/", ("host",)),
    Pattern("bamboohr", "bamboohr.com", _LABEL, r"/(?:careers|jobs|hiring/jobs|js/(?:embed|jobs))\b", "",
            "https://{host}/careers", ("host",)),
    Pattern("jobvite", "jobvite.com", "jobs", f"(?:/careers)?{_LANGUAGE}/(?!careers/){_NAME}", "", _JOBVITE),
    Pattern("jobvite", "jobvite.com", "app|hire", r"/(?:CompanyJobs|j)\b"),
    Pattern("rippling", "rippling.com", "ats", rf"{_LANGUAGE}(?:/embed)?/{_NAME}", "", _RIPPLING),
    Pattern("rippling", "rippling.com", "api", rf"/platform/api/ats/v\d/board/{_NAME}", "", _RIPPLING),
    Pattern("gem", "gem.com", "jobs", f"/{_NAME}", "", _GEM),
    Pattern("gem", "gem.com", "api", rf"/job_board/v\d/{_NAME}", "", _GEM),
    Pattern("join", "join.com", "(?:www)?", f"{_LANGUAGE}/companies/{_NAME}", "", "https://join.com/companies/{token}"),
    Pattern("teamtailor", "teamtailor.com", rf"{_LABEL}(?:\.(?:na|au|us))?", "", "", "https://{host}/jobs", ("host",)),
)
# fmt: on

RESERVED = frozenset(
    "api app apply apps asset assets attachments blog board boards candidate careers careers-analytics cdn companies"
    " company css dashboard developer developers docs embed error favicon fonts graphql help hire hr images img"
    " internal j job jobs js login mail my null oauth oneclick-ui postings privacy resources robots scripts search"
    " signin signup sitemap sso static status support terms undefined users view widget widgets www".split()
)
"""What stands where a token stands and is none, at any vendor but Workday, whose sites may have any name."""
RESERVED_SITES = frozenset({"wday", "login", "favicon.ico", "robots.txt", "sitemap.xml"})
"""What stands where Workday and Oracle have a site, and is none."""

PARAMETERS: Mapping[str, str] = MappingProxyType(
    {
        "ashby_jid": "ashby",
        "gh_jid": "greenhouse",
        "gh_src": "greenhouse",
        "grnhse_job_id": "greenhouse",
        "jvi": "jobvite",
        "jvk": "jobvite",
        "lever-origin": "lever",
        "lever-source": "lever",
        "lever-source[]": "lever",
        "lever-via": "lever",
    }
)
"""Parameters in addresses of a company's own pages, by which its vendor's script finds the opening -> the vendor."""

_CAREERS_HOST = r"(?:careers?|jobs?|join|karriere|recruitment|talents?|vacatures|werkenbij|work)\."


class OwnSite(NamedTuple):
    """How a vendor lays out the addresses of a site on the company's own domain."""

    kind: str
    host: str
    path: str
    keeps: tuple[str, ...] = ("host",)


OWN_SITES: tuple[OwnSite, ...] = (
    OwnSite("oracle_hcm", "", r"/[a-z]{2}(?:-[a-z]{2})?/sites/" + _SITE, ("host", "site")),
    OwnSite("recruitee", "", r"/l/[a-z]{2}" + _END),
    OwnSite("recruitee", _CAREERS_HOST, r"/o/[^/]+/?$"),
    OwnSite("teamtailor", _CAREERS_HOST, r"/jobs/\d{4,12}-[^/]+/?$"),
)

FEED_PATH = re.compile(
    r"(?:\.(?:rss|atom|rdf)|/(?:rss|atom|feed)(?:\.xml|\.php|\.aspx)?|/[^/]{0,60}(?:feed|rss|jobs?)[^/]{0,20}\.xml)/?$",
    re.IGNORECASE,
)
"""Of a path that says that it is a feed."""
FEED_QUERY = re.compile(r"(?:^|&)(?:format|feed|output|type)=(?:rss2?|atom)(?:&|$)", re.IGNORECASE)


class Habit(NamedTuple):
    """Where the sites of a maker usually have their feed. Addresses alone do not tell the maker for sure."""

    host: str
    path: str
    query: str
    feed: str


HABITS: tuple[Habit, ...] = (
    Habit(r"[a-z0-9-]{1,63}\.jobs2web\.", "", "", "/googlefeed.xml"),
    Habit("", r"/viewalljobs/?$", "", "/googlefeed.xml"),
    Habit(_CAREERS_HOST + r"|.{1,60}careers\.", r"/search/?$", r"(?!.)|(?:.*&)?locale=", "/googlefeed.xml"),
    Habit(_CAREERS_HOST, "/?$", r"(?:.*&)?locale=[a-z]{2}_[a-z]{2}(?:&|$)", "/googlefeed.xml"),
    Habit(_CAREERS_HOST, r"/jobs/?$", r"(?!.)", "/jobs.rss"),
)
"""SAP SuccessFactors (``/search/``, ``/viewalljobs/``, ``?locale=en_GB``) and Teamtailor (``/jobs``)."""


class Mark(NamedTuple):
    """An element that a vendor's script puts a board into."""

    kind: str
    selector: str
    attribute: str = ""
    """It has the board's name, or its host."""


MARKS: tuple[Mark, ...] = (
    Mark("ashby", "#ashby_embed"),
    Mark("bamboohr", "#BambooHR", "data-domain"),
    Mark("greenhouse", "#grnhse_app"),
    Mark("lever", "[data-lever-company]", "data-lever-company"),
    Mark("workable", "#whr_embed_hook"),
)

_IS = r"""["']?\s{0,5}[:=]\s{0,5}["']"""

SCRIPT_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "greenhouse",
        re.compile(r"\b(?:board_?token|greenhouse_?token)" + _IS + r"(?P<token>[\w-]{1,100})", re.IGNORECASE),
    ),
    ("lever", re.compile(r"leverJobsOptions\s{0,5}=[^;]{0,300}?accountName" + _IS + r"(?P<token>[\w.-]{1,100})")),
    ("workable", re.compile(r"\bwhr_embed\(\s{0,5}(?P<token>\d{1,12})\b")),
    ("smartrecruiters", re.compile(r"\bcompany_code" + _IS + r"(?P<token>[\w.-]{1,100})")),
    (
        "oracle_hcm",
        re.compile(
            r"apiBaseUrl" + _IS + r"https://(?P<host>[a-z0-9.-]{1,150}\.oraclecloud\.(?:com|eu))"
            r".{0,500}?siteNumber" + _IS + r"(?P<site>\w{1,50})",
            re.DOTALL,
        ),
    ),
)
"""What the settings of a vendor's script look like in a page."""


class Maker(NamedTuple):
    """Who made a careers site on a company's own domain, by what the site loads."""

    kind: str
    host: str
    """Of a script or a style sheet: its end; empty: any."""
    path: str = ""
    """The beginning of its path."""
    feed: str = ""
    """The path of the site's feed, where that is what is read."""


MAKERS: tuple[Maker, ...] = (
    Maker("personio", "assets.cdn.personio.de", "/jobs/"),
    Maker("pinpoint", "app.pinpointhq.com", "/assets/"),
    Maker("recruitee", "careers-analytics.recruitee.com"),
    Maker("recruitee", "careers.recruiteecdn.com"),
    Maker("rss", "", "/platform/js/j2w/", "/googlefeed.xml"),
    Maker("rss", "jobs2web.com", "", "/googlefeed.xml"),
    Maker("rss", "rmkcdn.successfactors.com", "", "/googlefeed.xml"),
    Maker("teamtailor", "teamtailor-cdn.com"),
)
WIDGET_PATH = re.compile(r"/widgets?/", re.IGNORECASE)
"""Of a script that shows a board on a site that somebody else made."""

CAREERS = re.compile(
    r"(?:^|[^a-z])(?:careers?|jobs?|joblist|vacanc(?:y|ies)|vacatures?|openings?|open[-_ ]?(?:positions|roles)"
    r"|positions|hiring|join[-_ ]?(?:us|our[-_ ]?team)|work[-_ ](?:with|for|at)[-_ ]\w{1,30}|karriere"
    r"|stellen(?:angebote|markt)?|emplois?|recrutement|carrieres?|empleos?|trabaj\w{1,20}|lavora|carriere"
    r"|werken[-_ ]?bij|jobb|lediga[-_ ]jobb|praca|kariera|kariery|vagas|talents?)(?:[^a-z]|$)",
    re.IGNORECASE,
)
"""In an address, a link or a title: it leads to openings."""
