"""Guard of addresses: those that may be connected to, and a way to connect to just those that were checked.

A site's name, or a redirect of it, could lead into the caller's own network: to a router, a database, the machine's
metadata. So names are resolved here, every address is judged, and the connection goes to the judged address itself:
asking for the name a second time could give another answer.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

from ramet.commands.errors import UserError
from ramet.commands.extras import import_extra
from ramet.fetch.errors import Refused, Trouble
from ramet.fetch.host_map import HostMap

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host, port) to the host's addresses as text. Raises `OSError` when there are none."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
"""Network of all addresses that were ever given to hosts of the internet. An address outside leads, if anywhere, to a
translator or a leftover of an old scheme (`::127.0.0.1`, `::ffff:0:127.0.0.1`, `64:ff9b:1::/48`, `fec0::/10`), which
`is_global` lets pass.
"""
_DOCUMENTATION = ipaddress.IPv6Network("3fff::/20")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""The upper half of an interface's number whose lower half is an IPv4 address that a router tunnels to (RFC 5214)."""
_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")
_PROTOCOLS = ipaddress.IPv4Network("192.0.0.0/24")
"""Set aside for protocols; one cloud serves its metadata there."""
_PLATFORM = frozenset(map(ipaddress.ip_address, ("168.63.129.16", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254")))
"""Addresses at which clouds serve a machine's metadata and secrets, beside the link-local ones."""
_BAD_PORTS = frozenset(int(port) for port in (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 "
    "135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 "
    "995 1719 1720 1723 2049 3306 3659 4045 4190 5060 5061 5432 6000 6379 6566 6665 6666 6667 6668 6669 6679 6697 "
    "10080 11211 27017"
).split())  # fmt: skip
"""Ports of other services, which HTTP could make do something: those of the Fetch standard, and databases. Not for
hosts that the operator named explicitly.
"""
_UNKNOWN_NAME = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})

_CREDENTIALS = re.compile(r"[^/]*@")
"""Pattern of a possible user name and password, which is never shown."""


class WebError(Refused, UserError):
    """An address or an answer that is not taken, and that no other try changes. The message is one line."""


class AddressRefused(WebError):
    """The host has an address that may not be connected to."""


class NameUnknown(WebError):
    """No host has this name."""


def is_public(address: Address) -> bool:
    """Whether anybody on the internet could connect to it; an IPv4 address inside an IPv6 one is what counts."""
    plain = _carried(address)
    if isinstance(plain, ipaddress.IPv6Address) and (plain not in _GLOBAL_UNICAST or plain in _DOCUMENTATION):
        return False
    return plain.is_global and not plain.is_multicast and plain not in _PROTOCOLS and plain not in _PLATFORM


def is_private(address: Address) -> bool:
    """Whether it is one of this machine or of its own network, where a site may well stand.

    Metadata services, link-local, multicast and reserved addresses are neither public nor private.
    """
    plain = _carried(address)
    if plain.is_loopback:
        return True
    if plain in _PLATFORM or plain.is_link_local or plain.is_multicast or plain.is_reserved:
        return False
    if plain in _THIS_NETWORK or plain in _PROTOCOLS:
        return False
    return not plain.is_global and not plain.is_unspecified


def _carried(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one leads to, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP and address in _GLOBAL_UNICAST:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver; see `Resolve`."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in found))


async def addresses_of(host: str, port: int, *, resolver: Resolve = resolve) -> list[Address]:
    """Return all addresses of a host, at least one.

    Raises:
        NameUnknown: the name does not exist.
        Trouble: it could not be asked just now.
    """
    try:
        found = await resolver(host, port)
    except socket.gaierror as error:
        if error.errno in _UNKNOWN_NAME:
            raise NameUnknown(f"there is no host named {host}: check the address") from None
        raise Trouble(f"the name {host} could not be looked up: {error.strerror}") from None
    except UnicodeError:
        raise NameUnknown(f"{host!a} is not a valid host name: check the address") from None
    if not found:
        raise NameUnknown(f"there is no host named {host}: check the address")
    # A scope (`fe80::1%eth0`) says which network card; it changes nothing of what the address is.
    return [ipaddress.ip_address(text.partition("%")[0]) for text in found]


async def is_private_host(url: str, *, resolver: Resolve = resolve) -> bool:
    """Whether a URL's host has an address that only this machine or its own network reaches.

    For the moment when a person names a site outright: this may be asked then, and the answer kept.

    Raises:
        WebError: no host of that name, no URL, or the name cannot be looked up just now.
    """
    host, port = host_and_port(url)
    try:
        addresses = await addresses_of(host, port, resolver=resolver)
    except Trouble as error:
        raise WebError(f"{error}: is there a network? Try again later") from None
    return any(is_private(address) for address in addresses)


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host and the port, given or the scheme's own, of an http or https URL.

    Raises:
        WebError: it is not such a URL, or has a user name or password in it.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or port == 0:
        shown = _CREDENTIALS.sub("", url)[:200]
        raise WebError(f"{shown!a} is not a valid address: give one that begins with https:// and names a host")
    if parts.username is not None or parts.password is not None:
        raise WebError(f"the address of {host} has a user name or password in it: leave them out")
    return host, port or (443 if parts.scheme == "https" else 80)


def joined(url: str, reference: str) -> str:
    """Return the address that `reference` leads to from `url`; empty if it is so broken that it leads nowhere."""
    try:
        return urljoin(url, reference)
    except ValueError:
        return ""


class GuardedBackend:
    """Makes the connections of an HTTP client, to judged addresses only; a network backend of `httpcore2`.

    Host names for TLS and for the `Host` header stay as they were asked for.
    """

    def __init__(
        self, *, extra: str, private: bool, resolver: Resolve = resolve, mapped: HostMap | None = None
    ) -> None:
        """Prepare; no connection is opened yet.

        Args:
            extra: for `import_extra`.
            private: whether it connects to this machine and its network too.
            mapped: names that lead to an address and port that the operator gave.
        """
        self._private = private
        self._mapped = mapped or HostMap()
        self._resolver = resolver
        self._core = import_extra("httpcore2", extra)
        self._plain = self._core.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the client's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> Any:
        """Connect to the first address of `host` that answers.

        Raises:
            AddressRefused: one of its addresses may not be connected to.
            NameUnknown, Trouble: see `addresses_of`.
        """
        target = self._mapped.target(host, port)
        if target is not None:
            return await self._plain.connect_tcp(*target, timeout, local_address, socket_options)
        if port in _BAD_PORTS and not self._private:
            raise AddressRefused(f"{host}:{port} is a port of another service than HTTP: nothing is fetched there")
        try:
            async with asyncio.timeout(timeout):
                addresses = await addresses_of(host, port, resolver=self._resolver)
        except TimeoutError:
            raise Trouble(f"the name {host} could not be looked up in {timeout:g} s") from None
        for address in addresses:
            self._judge(host, address)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._plain.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (self._core.ConnectError, self._core.ConnectTimeout) as error:
                failure = error
        assert failure is not None, "a host has at least one address"
        raise failure

    async def connect_unix_socket(self, path: str, *_: Any, **__: Any) -> Any:
        """Never: no http URL names a socket."""
        raise AddressRefused(f"{path!a} is not the address of a site")

    async def sleep(self, seconds: float) -> None:
        """Wait, as the client asks for between tries of its own."""
        await asyncio.sleep(seconds)

    def _judge(self, host: str, address: Address) -> None:
        if is_public(address) or (self._private and is_private(address)):
            return
        where = "" if host == str(address) else f"{address}, "
        whose = "an address of this machine's own network" if is_private(address) else "an address that no site has"
        raise AddressRefused(f"{host} is {where}{whose}: nothing is fetched there")
