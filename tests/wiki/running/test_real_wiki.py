"""A whole expansion of a real MediaWiki: every title ends as it should, however ill the server is meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from ramet.testing.postgres_server.programs import until
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.mediawiki_truth import Truth
from tests.wiki.running.real_runs import Trouble, check, check_manners, expand, rows

pytestmark = [pytest.mark.network, pytest.mark.process]

for module in ("httpcore2", "ladybug"):
    pytest.importorskip(module, reason="the extra [wiki] is not installed")

ATTEMPTS_LOST = """
    SELECT seq, COUNT(*) FROM ramet_attempts WHERE outcome <> 'snooze' GROUP BY seq HAVING COUNT(*) > 1"""
"""Tasks that did not end with the first attempt that counted."""


@pytest.mark.nightly
@pytest.mark.parametrize("disambiguation", ["fail", "links"])
async def test_every_title_of_a_wiki_ends_with_the_right_reason(
    tmp_path: Path, mediawiki: MediaWiki, disambiguation: Literal["fail", "links"]
) -> None:
    await expand(tmp_path, mediawiki, disambiguation=disambiguation)
    check(tmp_path, Truth(disambiguation=disambiguation))
    check_manners(mediawiki.asked())


def refuses_and_breaks(wiki: MediaWiki) -> None:
    wiki.faults(**{"429": 2, "503": 1, "503_without_time": 2, "500": 3, "slow_ms": 50})


def lags(wiki: MediaWiki) -> None:
    wiki.forget()
    wiki.faults(lag=True)
    try:
        until(lambda: bool(wiki.asked()), "the wiki is asked while it lags")
    finally:
        wiki.faults()


@pytest.mark.parametrize("trouble", [refuses_and_breaks, pytest.param(lags, marks=pytest.mark.nightly)])
async def test_trouble_that_passes_costs_no_article_and_no_attempt(
    tmp_path: Path, mediawiki_to_edit: MediaWiki, trouble: Trouble
) -> None:
    mediawiki_to_edit.edit("Template:Foot", "Another foot. [[Category:Pages with a foot]]")  # A job waits: that is lag.
    mediawiki_to_edit.forget()
    await expand(tmp_path, mediawiki_to_edit, trouble)
    # Every title with the right reason, as it is without any trouble.
    check(tmp_path, Truth())
    check_manners(mediawiki_to_edit.asked())
    assert rows(tmp_path, "SELECT COUNT(*) > 0 FROM ramet_attempts WHERE reason LIKE 'retry after%'") == [(1,)]
    assert rows(tmp_path, ATTEMPTS_LOST) == []


async def test_rendered_texts_cost_a_request_each_and_no_attempt_when_the_server_refuses(
    tmp_path: Path, mediawiki_to_edit: MediaWiki
) -> None:
    mediawiki_to_edit.forget()
    await expand(tmp_path, mediawiki_to_edit, refuses_and_breaks, text="rendered")
    check(tmp_path, Truth())
    asked = mediawiki_to_edit.asked()
    check_manners(asked)
    answered = sum(call.status == 200 and not call.titles for call in asked)
    # Beside the pages: what the wiki says of itself. A page whose server failed in between may be asked for twice.
    assert len(Truth().articles) <= answered <= len(Truth().articles) * 1.2
    assert rows(tmp_path, ATTEMPTS_LOST) == []
