"""What robots.txt allows us, whatever it looks like."""

from __future__ import annotations

import asyncio

import pytest

from ramet.fetch.robots import ALL_ALLOWED, HOSTS_MAX, Robots, rules_of, token_of

pytest.importorskip("protego", reason="the extra [fetch] is not installed")

SITE = "https://a.example"


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("ramet-jobs", "ramet-jobs"),
        ("Ramet-Jobs/1.2 (mail@x.example)", "ramet-jobs"),
        ("a b", "a"),
        ("Mozilla/5.0 (compatible; Finder/1.0; +https://x.example)", "finder"),
        ("Mozilla/5.0 (X11; Linux)", "mozilla"),
    ],
)
def test_a_robot_is_named_by_its_first_word(agent: str, token: str) -> None:
    assert token_of(agent) == token


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: *\nDisallow: /careers", False),
        ("User-agent: *\nDisallow: /jobs", True),
        ("User-agent: *\nDisallow: /\nAllow: /careers", True),
        ("User-agent: *\nDisallow: /*.php$\nDisallow: /*role=", False),
        ("User-agent: other\nDisallow: /", True),
        ("User-agent: other\nUser-agent: Ramet-Jobs/2\nDisallow: /", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: ramet-jobs\nDisallow: /private", True),
        ("user-agent : ramet-jobs # us\ndisallow: /", False),
        ("Disallow: /", True),
        ("<!doctype html><h1>Not found</h1>", True),
        ("\x00\xff garbage : : :\nUser-agent\nDisallow", True),
    ],
)
def test_rules_are_those_of_the_group_that_names_us(text: str, allowed: bool) -> None:
    assert rules_of(text, "ramet-jobs").allow(f"{SITE}/careers?role=dev") is allowed


def test_a_delay_is_that_of_our_group() -> None:
    assert rules_of("User-agent: x\nCrawl-delay: 5\n\nUser-agent: *\nCrawl-delay: 2.5", "r").crawl_delay == 2.5
    assert rules_of("User-agent: *\nCrawl-delay: soon", "r").crawl_delay is None


def test_half_a_megabyte_of_other_robots_is_not_multiplied() -> None:
    """So many groups with so many rules each would be a hundred million rules."""
    agents = "".join(f"User-agent: a{number}\n" for number in range(15_000))
    text = f"{agents}{'Disallow: /x' * 1}\n{agents}" + "".join(f"Disallow: /{n}\n" for n in range(5_000))
    rules = rules_of(text[:500_000], "ramet-jobs")
    assert rules.allow(f"{SITE}/x")


def test_patterns_full_of_stars_are_read() -> None:
    rules = rules_of("User-agent: *\nDisallow: /" + "*a" * 100_000 + "*b$", "ramet-jobs")
    assert rules.allow(f"{SITE}/" + "a" * 2_000)


async def test_a_host_is_asked_once_however_many_want_to_know() -> None:
    now = [0.0]
    asked: list[str] = []
    robots = Robots(lambda: now[0])

    async def fetch(url: str) -> str | None:
        asked.append(url)
        await asyncio.sleep(0)
        return "User-agent: *\nDisallow: /x"

    found = await asyncio.gather(*(robots.rules(SITE, "r", 100.0, fetch) for _ in range(20)))
    assert asked == [f"{SITE}/robots.txt"]
    assert not any(rules.allow(f"{SITE}/x") for rules in found)
    now[0] = 99.0
    assert robots.known(SITE, "r") is not None
    now[0] = 100.0
    assert robots.known(SITE, "r") is None
    await robots.rules(SITE, "r", 100.0, fetch)
    assert len(asked) == 2


async def test_what_could_not_be_had_is_asked_for_again() -> None:
    robots = Robots(lambda: 0.0)
    answers: list[str | None] = [None]

    async def fetch(_: str) -> str | None:
        if not answers:
            raise ConnectionError("gone")
        return answers.pop()

    assert await robots.rules(SITE, "r", 1.0, fetch) is ALL_ALLOWED
    with pytest.raises(ConnectionError):
        await robots.rules("https://b.example", "r", 1.0, fetch)
    answers.append(None)
    assert await robots.rules("https://b.example", "r", 1.0, fetch) is ALL_ALLOWED


async def test_only_so_many_hosts_are_remembered() -> None:
    robots = Robots(lambda: 0.0)

    async def nothing(_: str) -> str | None:
        return None

    for number in range(HOSTS_MAX + 5):
        await robots.rules(f"https://{number}.example", "r", 1.0, nothing)
    assert robots.known("https://4.example", "r") is None
    assert robots.known("https://5.example", "r") is ALL_ALLOWED
