"""What words add up to: nothing for one stray word, and nothing for what is sold to others."""

from __future__ import annotations

import pytest

from ramet.jobs.companies.signals import ai_ml_evidence, remote_evidence
from ramet.jobs.settings import CompanySettings

SETTINGS = CompanySettings()


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("", "We are a fully remote company with people in nine countries."),
        ("", "Acme has been remote-first. As a remote-first team we write a lot."),
        ("", "All of our employees work remotely."),
        ("", "We have no physical office."),
        ("How we work", "100% remote."),
        ("We are a remote-first company", ""),
        ("", "We are remote first, though our offices are always open."),
    ],
)
def test_who_says_so_of_itself_is_remote_first(heading: str, text: str) -> None:
    assert remote_evidence([(heading, text)]).points >= SETTINGS.remote_evidence_min


@pytest.mark.parametrize(
    "text",
    [
        "Remote",
        "Remote Control. Remote sensors. Remote access. Work from home.",
        "Chat for fully remote teams.",
        "We work hybrid, with three days in the office. Some roles are fully remote.",
        "Various positions allow remote work.",
        "We are remote-friendly.",
        "Sales manager, fully remote\nEngineer, 100% remote\nRemote, full-time\nDistributed systems engineer",
        "This role is fully remote. The position is 100% remote.",
        "",
    ],
)
def test_a_stray_word_or_a_product_for_others_is_not(text: str) -> None:
    assert remote_evidence([("", text)]).points < SETTINGS.remote_evidence_min


def test_what_stands_on_every_page_counts_once() -> None:
    once = remote_evidence([("", "Work from anywhere.")])
    assert remote_evidence([("", "Work from anywhere.")] * 5) == once
    assert once.found == ("Work from anywhere",)


@pytest.mark.parametrize(
    ("about", "text", "holds"),
    [
        ("We build machine learning models for hospitals.", "Our AI finds tumours. Deep learning.", True),
        (
            "Acme trains large language models.",
            "LLMs for everyone, and AI that you can trust: a foundation model of one's own.",
            True,
        ),
        ("We sell shoes.", "Our shop has a recommender that uses machine learning.", False),
        ("We sell shoes.", "Send us an email. Aid for all. Said Ai.", False),
        ("We answer mails.", "AI", False),
    ],
)
def test_machine_learning_is_the_focus_of_who_says_it_is(about: str, text: str, holds: bool) -> None:
    assert (ai_ml_evidence(about, text).points >= SETTINGS.ai_ml_evidence_min) is holds
