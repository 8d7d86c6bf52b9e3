"""What hosts' robots.txt allow (RFC 9309), known for a day in each process."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ramet.commands.extras import import_extra
from ramet.fetch.errors import FETCH_EXTRA

HOSTS_MAX = 1_000
"""Whose rules are kept in memory; those asked for longest ago go first."""
_AGENT = re.compile(r"[ \t]{0,100}user[- ]?agent[ \t]{0,100}:?", re.IGNORECASE)
_COMPATIBLE = re.compile(r"\AMozilla/[^(]{0,20}\(compatible; ?([^\s;)]{1,100})", re.IGNORECASE)
_NOBODY = "User-agent: nobody"


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
    """The word by which a robots.txt names a robot: the first of its user agent, without a version.

    Of one that begins as browsers do, it is the word after ``compatible;``.
    """
    compatible = _COMPATIBLE.search(user_agent)
    word = compatible[1] if compatible is not None else user_agent.split(maxsplit=1)[0]
    return word.partition("/")[0].lower()


def rules_of(text: str, token: str, extra: str = FETCH_EXTRA) -> Rules:
    """Read a robots.txt. What it says of other robots is left out, so that no list of those takes time or room.

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
        lines.append(f"User-agent: {name}" if name in {token, "*"} else _NOBODY)
    parsed = import_extra("protego", extra).Protego.parse("\n".join(lines))
    return Rules(parsed, token, parsed.crawl_delay(token))


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
        """The rules of a host, if they need not be asked for."""
        known = self._known.get((origin, token))
        return known.rules if known is not None and self._clock() < known.until else None

    async def rules(
        self, origin: str, token: str, seconds: float, fetch: Callable[[str], Awaitable[str | None]]
    ) -> Rules:
        """The rules of a host, asked for once however many want them.

        Args:
            origin: scheme and host, without a slash at the end.
            seconds: for which they are kept.
            fetch: gives the text of an address, None where there is none. What it raises goes on, and nothing is kept.
        """
        known = self._known.setdefault((origin, token), _CachedRules())
        self._known.move_to_end((origin, token))
        while len(self._known) > HOSTS_MAX:
            self._known.popitem(last=False)
        async with known.asking:
            if known.rules is None or self._clock() >= known.until:
                text = await fetch(f"{origin}/robots.txt")
                known.rules = ALL_ALLOWED if text is None else rules_of(text, token, self._extra)
                known.until = self._clock() + seconds
            return known.rules
