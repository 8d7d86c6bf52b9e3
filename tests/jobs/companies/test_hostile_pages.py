"""Pages that are made to take long: five megabytes of one thing are read like any other page."""

from __future__ import annotations

import pytest

from ramet.jobs.companies.extraction import read_company
from ramet.jobs.companies.facts import WebPage

pytestmark = pytest.mark.proof

SIZE = 5_000_000
SEVERAL = 1_000_000


@pytest.mark.parametrize(
    "unit",
    [
        "<h2>",
        "<nav>",
        "<nav></nav>",
        "<script ",
        "<script>x</script>",
        "<meta name='\"",
        "<title",
        "<h2>Our values</h2>",
        "<p>1 1 ",
        "team of ",
        "headquartered in A, ",
        "is a b c ",
        "fully remote some ",
        "our mission ",
        "Founded by ",
        "Machine ",
        "&#9;",
        "\ufdd01 ",
    ],
)
def test_a_megabyte_of_one_thing_is_read(unit: str) -> None:
    html = unit * (SEVERAL // len(unit))
    facts = read_company([WebPage("https://acme.com/about", html)], "Acme")
    assert facts.name == "Acme"


def test_json_ld_that_nests_without_end_says_nothing() -> None:
    for inner in ("[" * SIZE, '{"@graph":[' * (SIZE // 11), "1" * SIZE, '[{"@type":"Organization"},' * 10):
        page = WebPage(
            "https://acme.com/", f"<script type='application/ld+json'>{inner}</script><p>Founded in 2012</p>"
        )
        assert read_company([page], None).founded == "2012"
