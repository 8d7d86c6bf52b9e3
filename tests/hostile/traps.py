"""Sites that never end, each in its own way. Every one is `NAME.trap.example`; `TRAPS` has them by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from urllib.parse import parse_qs, urlsplit

from tests.hostile.pages import Reply, Site, fresh, fresh_word

DOMAIN = "trap.example"


def calendar(host: str, target: str) -> Reply:
    """Every day links to the next, the same one a year on, and its month; no day is the last."""
    parts = [int(part) for part in target.split("/") if part.isdigit()]
    year, month, day = parts if len(parts) == 3 else (2024, 1, 1)
    today = date(year if 1000 <= year < 9_000 else 2024, month, day)
    days = [today + timedelta(days=days) for days in (-1, 1, 7, 28, 365)]
    return Reply(tuple(f"/{day.year}/{day.month:02}/{day.day:02}" for day in days))


def sessions(host: str, target: str) -> Reply:
    """Ten pages; every link has a session id of its own, in the query or in the path."""
    path = urlsplit(target).path.partition(";")[0]
    number = int(path.strip("/") or 0) if path.strip("/").isdigit() else 0
    links = []
    for step in (1, 2, 3):
        page = (number + step) % 10
        links += [f"/{page}?PHPSESSID={fresh(target, step)}", f"/{page};jsessionid={fresh(target, step)}"]
    return Reply((*links, f"/{number}?sid={fresh(target)}"))


def tokens(host: str, target: str) -> Reply:
    """The same with ids that no list of session parameters knows, in the query, in a segment and in a name."""
    ids = [fresh(target, step, digits=20) for step in range(3)]
    return Reply((f"/page?visit={ids[0]}", f"/s/{ids[1]}/page", f"/page-{ids[2]}.html"))


def ring(host: str, target: str) -> Reply:
    """Three addresses that send to one another, and one that sends to itself by another spelling."""
    ways = {"/a": "/b", "/b": "/c", "/c": "/a", "/self": "/self/", "/self/": "//self"}
    path = urlsplit(target).path
    if path == "/":
        return Reply(("/a", "/self"))
    return Reply(status=302, location=f"http://{host}{ways.get(path, '/self')}")


def hops(host: str, target: str) -> Reply:
    """Every address sends to the next one."""
    number = target.rpartition("/")[2]
    return Reply(status=302, location=f"/hop/{int(number) + 1 if number.isdigit() else 1}")


def twins(host: str, target: str) -> Reply:
    """Soft 404: whatever is asked for is "found", and the page that says sorry recommends two that nobody wrote."""
    path = urlsplit(target).path.rstrip("/")
    return Reply(tuple(f"/articles/{fresh_word(path, number)}-{fresh_word(number, path)}" for number in range(2)))


def repeats(host: str, target: str) -> Reply:
    """A relative link that should have been absolute: every hop is a segment deeper."""
    return Reply(("a/", "a/b/", "../a/a/"))


def cases(host: str, target: str) -> Reply:
    """A server that heeds no case, and links in all of them."""
    name = urlsplit(target).path.strip("/") or "thepageofthisserver"
    flipped = [name[:at] + name[at].swapcase() + name[at + 1 :] for at in range(len(name))]
    return Reply(tuple(f"/{text}" for text in flipped))


def subdomains(host: str, target: str) -> Reply:
    """Names below names: by number, by id and by word."""
    domain = f"subdomains.{DOMAIN}"
    ids = (fresh(host, "id"), f"www{int(fresh(host)[2:8], 16)}", fresh_word(host))
    return Reply(tuple(f"http://{name}.{domain}/" for name in ids))


def ports(host: str, target: str) -> Reply:
    """A server on every port, and each links to the next two."""
    name, _, port = host.partition(":")
    number = int(port or 80) % 60_000
    return Reply((f"http://{name}:{number + 1}/", f"http://{name}:{number + 2}/"))


def drip(host: str, target: str) -> Reply:
    """A home page that links to three which never come to their end."""
    return Reply(("/slow/one", "/slow/two", "/slow/three")) if target == "/" else Reply(flow="drip")


def endless(host: str, target: str) -> Reply:
    """A home page that links to three whose bodies have no end."""
    return Reply(("/big/one", "/big/two", "/big/three")) if target == "/" else Reply(flow="endless")


def partners(host: str, target: str) -> Reply:
    """Two pages that link to each other, under a query that was never there before."""
    other = "/right" if urlsplit(target).path == "/left" else "/left"
    seen = parse_qs(urlsplit(target).query).get("r", [""])[0]
    return Reply((f"{other}?r={fresh(target)}", f"{other}?r={fresh_word(seen, target)}&from={fresh(seen)}"))


def canonical(host: str, target: str) -> Reply:
    """Twenty honest pages: half say that they are the home page, the others that they are one that nobody saw yet."""
    path = urlsplit(target).path
    number = int(path.strip("/")) if path.strip("/").isdigit() else 0
    lie = f"http://{host}/" if number % 2 else f"http://{host}/real/{fresh(target)}"
    return Reply((f"/{(number + 1) % 20}", f"/{(number * 3 + 1) % 20}"), canonical=lie)


def spellings(host: str, target: str) -> Reply:
    """One page, in every spelling that a server takes for the same."""
    ways = (
        "/page", "/%70age", "/p%61ge", "//page", "/page/", "/./page", "/x/../page", "/page#top", "/page#!/top",
        "/page?", "/page;", "/page?utm_source=x", "/page?&&", f"http://{host.upper()}/page", f"http://{host}:80/page",
        f"http://{host}./page", f"http://someone:secret@{host}/page", "/page?fbclid=1", "/%70%61%67%65/.", "/page;v=1",
    )  # fmt: skip
    return Reply(ways)


def _site(play: Callable[[str, str], Reply]) -> Site:
    return Site(f"{play.__name__}.{DOMAIN}", play)


_PLAYS = (
    calendar, sessions, tokens, ring, hops, twins, repeats, cases, subdomains, ports, drip, endless, partners,
    canonical, spellings,
)  # fmt: skip
TRAPS: dict[str, Site] = {play.__name__: _site(play) for play in _PLAYS}
