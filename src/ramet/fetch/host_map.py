"""Names of hosts that lead elsewhere than the network says: to a proxy of one's own, or to a server of the tests.

``HOST[:PORT]=ADDRESS:PORT``, several with commas between them, the first that fits counts; ``*.example.com`` is every
name below it, ``*`` every name. TLS and the ``Host`` header keep the name that was asked for. An address as a number is
never led elsewhere, nor is this machine's own name by ``*``: what is refused for its address stays refused.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import NamedTuple

from ramet.commands.errors import UserError

_RULE = re.compile(
    r"(?P<host>\*|(?:\*\.)?[a-z0-9_.-]{1,253})(?::(?P<port>\d{1,5}))?=(?P<to>\S{1,260}):(?P<to_port>\d{1,5})"
)


class HostRule(NamedTuple):
    """One of them."""

    host: str
    """Lower case."""
    port: int | None
    """None for any."""
    target: tuple[str, int]


class HostMap:
    """The rules; without any, nothing leads elsewhere."""

    def __init__(self, rules: tuple[HostRule, ...] = ()) -> None:
        self.rules = rules

    @classmethod
    def parse(cls, text: str, name: str) -> HostMap:
        """Read rules as above.

        Args:
            name: of what they come from, for the message.

        Raises:
            UserError: one of them cannot be read.
        """
        return cls(tuple(_rule(part.strip(), name) for part in text.split(",") if part.strip()))

    def target(self, host: str, port: int) -> tuple[str, int] | None:
        """Return the address that a host leads to; None: where the network says."""
        if not self.rules or is_number(host):
            return None
        name = host.lower().rstrip(".")
        for rule in self.rules:
            if rule.port in (None, port) and _fits(rule.host, name):
                return rule.target
        return None


def is_number(host: str) -> bool:
    """Whether a host is an address in any spelling that resolvers take, such as ``0x7f.1`` or ``2130706433``."""
    try:
        ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        try:
            socket.inet_aton(host)
        except (OSError, UnicodeError):
            return False
    return True


def _fits(pattern: str, name: str) -> bool:
    if pattern == "*":
        return name != "localhost" and not name.endswith(".localhost")
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern


def _rule(text: str, name: str) -> HostRule:
    found = _RULE.fullmatch(text.lower())
    ports = [] if found is None else [int(found["port"] or 1), int(found["to_port"])]
    if found is None or not all(0 < port < 65_536 for port in ports) or not is_number(found["to"]):
        raise UserError(
            f"{name} has {text[:100]!a}: give HOST=ADDRESS:PORT or HOST:PORT=ADDRESS:PORT, with commas between"
        )
    return HostRule(
        found["host"], int(found["port"]) if found["port"] else None, (found["to"].strip("[]"), int(found["to_port"]))
    )
