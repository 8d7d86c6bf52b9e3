"""Hosts that are not what they seem: boards, directories and networks with pages about companies, builders of sites.

Names of hosts are registered domains unless said otherwise. The lists need not be whole: a host that is missing is
taken for a company's website, and analysing it finds little.
"""

from __future__ import annotations

from enum import StrEnum

from ramet.jobs.boards.vendor_rows import own_vendor_domains


class Role(StrEnum):
    """Role of a host that is not a company's own."""

    BOARD = "a job board"
    DIRECTORY = "a site with pages about companies"


BOARD_HOSTS = frozenset(
    """
    myworkdayjobs.com myworkdaysite.com oraclecloud.com taleo.net successfactors.com successfactors.eu ultipro.com
    paycomonline.net dayforcehcm.com applytojob.com csod.com avature.net zohorecruit.com zohorecruit.eu zohorecruit.in
    sapsf.com sapsf.eu ultipro.ca jibeapply.com
    welcomekit.co recruiterbox.com grnh.se softgarden.io careers-page.com
    """.split()
)
"""Every address of theirs is an employer's board."""

VENDOR_DOMAINS = frozenset(
    """
    greenhouse.io lever.co ashbyhq.com recruitee.com smartrecruiters.com workable.com breezy.hr bamboohr.com jobvite.com
    icims.com teamtailor.com pinpointhq.com rippling.com gem.com personio.de personio.com eightfold.ai phenompeople.com
    freshteam.com hirehive.com homerun.co traffit.com catsone.com jazz.co peopleforce.io paylocity.com talentclue.com
    factorialhr.com adp.com comeet.com peoplestrong.com jobscore.com recruitcrm.io
    """.split()
)
"""Vendors of boards: the bare domain is the vendor's website, a host below it is an employer's board."""

DIRECTORY_DOMAINS = frozenset(
    """
    linkedin.com xing.com indeed.com indeed.co.uk glassdoor.com glassdoor.co.uk glassdoor.de glassdoor.fr kununu.com
    ziprecruiter.com ziprecruiter.co.uk monster.com monster.de careerbuilder.com simplyhired.com snagajob.com dice.com
    totaljobs.com reed.co.uk cv-library.co.uk stepstone.de stepstone.com infojobs.net naukri.com foundit.in seek.com.au
    seek.co.nz jooble.org talent.com jobteaser.com weworkremotely.com remoteok.com remoteok.io remotive.com remotive.io
    remote.co flexjobs.com wellfound.com angel.co workatastartup.com builtin.com themuse.com levels.fyi otta.com
    welcometothejungle.com jobspresso.co workingnomads.com himalayas.app arc.dev hired.com triplebyte.com usajobs.gov
    comparably.com crunchbase.com pitchbook.com zoominfo.com owler.com trustpilot.com
    facebook.com fb.com instagram.com twitter.com x.com tiktok.com youtube.com youtu.be t.me linktr.ee
    wikipedia.org wikidata.org bit.ly lnkd.in goo.gl t.co forms.gle
    """.split()
)
"""Their addresses are about others, even the bare one."""

PAGES_OF_OTHERS = frozenset(
    """
    github.com gitlab.com bitbucket.org medium.com notion.so airtable.com typeform.com ycombinator.com producthunt.com
    join.com jobylon.com adzuna.com adzuna.co.uk upwork.com behance.net dribbble.com eventbrite.com meetup.com
    """.split()
)
"""The bare domain is the website of a company, a path of it mostly another's page."""

VENDOR_PATHS = frozenset({"www", "about", "blog", "info", "help", "support", "docs"})
"""Hosts below a vendor's domain that are the vendor's."""

BUILDER_DOMAINS = frozenset(
    """
    wordpress.com squarespace.com weebly.com business.site canva.site gitbook.io substack.com tumblr.com super.site
    jimdofree.com jimdosite.com strikingly.com mystrikingly.com godaddysites.com odoo.com zohosites.com softr.app
    hubspotpagebuilder.com webnode.page site123.me
    """.split()
)
"""A host below one is a site of its own. Those that the public suffix list knows (github.io) are not repeated."""

PATH_SITES: dict[str, int] = {"sites.google.com": 2, "wixsite.com": 1}
"""Host, or domain that ends it -> how many parts of the path name the site on it."""


def role_of(host: str, domain: str, path: str) -> Role | None:
    """Return the role of a host, or None for a company's own.

    Args:
        host: the host in lower case.
        domain: its registered domain.
        path: path of the address, with its leading slash.
    """
    if domain in BOARD_HOSTS or domain in own_vendor_domains():
        return Role.BOARD
    below = host.removesuffix(domain).rstrip(".")
    if domain in VENDOR_DOMAINS and below and below not in VENDOR_PATHS:
        return Role.BOARD
    if domain in DIRECTORY_DOMAINS:
        return Role.DIRECTORY
    if domain in PAGES_OF_OTHERS and path.strip("/"):
        return Role.DIRECTORY
    return None
