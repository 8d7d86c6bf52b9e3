"""Rules of hosts' robots.txt (RFC 9309): known for a day, in each process and, with a store, by all workers.

A file that is not there (4xx) allows everything. One that cannot be had (5xx, no connection) allows nothing, unless an
older copy is known: that holds then, for at most 30 days.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ramet.commands.extras import import_extra
from ramet.fetch.errors import FETCH_EXTRA, Trouble

HOSTS_MAX = 1_000
"""Most hosts whose rules are kept in memory; those asked for longest ago go first."""
OLD_SECONDS_MAX = 30 * 86_400.0
"""Largest age of a copy that holds while the file itself cannot be had."""
AGAIN_SECONDS = 300.0
"""Seconds after which a file that could not be had is asked for again, where an old copy holds."""
_AGENT = re.compile(r"[ \t]{0,100}user[- ]?agent[ \t]{0,100}:?", re.IGNORECASE)
_COMPATIBLE = re.compile(r"\AMozilla/[^(]{0,20}\(compatible; ?([^\s;)]{1,100})", re.IGNORECASE)
_NO_ROBOT = "User-agent: another-robot"


@dataclass(frozen=True, slots=True)
class Rules:
    """Of one host, for one robot."""

    parsed: Any
    """None: everything is allowed."""
    token: str = ""
    crawl_delay: float | None = None
    """Seconds between two requests that it asks for."""

    def allow(self, url: str) -> bool:
        """Whether the robot may fetch an address of the host."""
        return self.parsed is None or bool(self.parsed.can_fetch(url, self.token))


ALL_ALLOWED = Rules(None)


def token_of(user_agent: str) -> str:
    """Return the word by which a robots.txt names a robot: the first of its user agent, without a version.

    Of one that begins as browsers do, it is the word after ``compatible;``.
    """
    compatible = _COMPATIBLE.search(user_agent)
    word = compatible[1] if compatible is not None else user_agent.split(maxsplit=1)[0]
    return word.partition("/")[0].lower()


def rules_of(text: str, token: str, extra: str = FETCH_EXTRA) -> Rules:
    """Read a robots.txt. Rules for other robots are left out, so that no list of those takes time or room.

    Args:
        extra: what installs the parser, for `import_extra`.
    """
    lines = []
    for line in text.splitlines():
        named = _AGENT.match(line)
        if named is None:
            lines.append(line)
            continue
        name = line[named.end() :].partition("#")[0].strip().partition("/")[0].lower()
        lines.append(f"User-agent: {name}" if name in {token, "*"} else _NO_ROBOT)
    parsed = import_extra("protego", extra).Protego.parse("\n".join(lines))
    return Rules(parsed, token, parsed.crawl_delay(token))


class KeptRobots(NamedTuple):
    """A robots.txt from a store."""

    text: str
    """Empty where the host has none."""
    age_seconds: float


class RobotsStore(Protocol):
    """Store of the robots.txt of hosts beyond this process."""

    async def load(self, origin: str) -> KeptRobots | None:
        """Return what is kept of a host."""
        ...

    async def save(self, origin: str, text: str) -> None:
        """Keep a host's file, which was read now."""
        ...


@dataclass(slots=True)
class _CachedRules:
    rules: Rules | None = None
    until: float = 0.0
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Robots:
    """The rules of the hosts that were asked. Belongs to one event loop."""

    def __init__(self, clock: Callable[[], float], extra: str = FETCH_EXTRA) -> None:
        """``clock`` gives monotonic seconds; ``extra`` is what installs the parser."""
        self._clock = clock
        self._extra = extra
        self._known: OrderedDict[tuple[str, str], _CachedRules] = OrderedDict()

    def known(self, origin: str, token: str) -> Rules | None:
        """Return the rules of a host, if they need not be asked for."""
        known = self._known.get((origin, token))
        return known.rules if known is not None and self._clock() < known.until else None

    async def rules(
        self,
        origin: str,
        token: str,
        seconds: float,
        fetch: Callable[[str], Awaitable[str | None]],
        store: RobotsStore | None = None,
    ) -> Rules:
        """Return the rules of a host, asked for once however many want them.

        Args:
            origin: scheme and host, without a slash at the end.
            seconds: for which they are kept.
            fetch: gives the text of an address, None where there is none. Its errors are passed on, and nothing is
                kept; only a `Trouble` is not an error where an older copy is in the store.
            store: asked before the server is.
        """
        known = self._known.setdefault((origin, token), _CachedRules())
        self._known.move_to_end((origin, token))
        while len(self._known) > HOSTS_MAX:
            self._known.popitem(last=False)
        async with known.asking:
            if known.rules is None or self._clock() >= known.until:
                kept = await _current(origin, seconds, fetch, store)
                known.rules = rules_of(kept.text, token, self._extra) if kept.text else ALL_ALLOWED
                known.until = self._clock() + seconds - kept.age_seconds
            return known.rules


async def _current(
    origin: str, seconds: float, fetch: Callable[[str], Awaitable[str | None]], store: RobotsStore | None
) -> KeptRobots:
    kept = None if store is None else await store.load(origin)
    if kept is not None and kept.age_seconds < seconds:
        return kept
    try:
        text = await fetch(f"{origin}/robots.txt") or ""
    except Trouble:
        if kept is None or kept.age_seconds > OLD_SECONDS_MAX:
            raise
        return KeptRobots(kept.text, seconds - min(seconds, AGAIN_SECONDS))
    if store is not None:
        await store.save(origin, text)
    return KeptRobots(text, 0.0)
