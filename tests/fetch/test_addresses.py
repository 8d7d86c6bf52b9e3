"""Which addresses are public, which are private, and which are neither."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from ramet.fetch.addresses import WebError, is_private, is_private_host, is_public

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
    "2a00::5efe:808:808",
]
PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fd12::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "2002:7f00:1::",
    "2a00::5efe:7f00:1",
    "2a00::200:5efe:a00:1",
]
NEITHER = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "fe80::1",
    "168.63.129.16",
    "fd00:ec2::254",
    "fd20:ce::254",
    "100.100.100.200",
    "::ffff:100.100.100.200",
    "192.0.0.192",
    "2002:a9fe:a9fe::1",
    "2a00::5efe:a9fe:a9fe",
    "::7f00:1",
    "::ffff:0:7f00:1",
    "64:ff9b:1::7f00:1",
    "fec0::1",
    "3fff::1",
    "5f00::1",
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "224.0.0.1",
    "239.255.255.250",
    "ff02::1",
    "240.0.0.1",
    "255.255.255.255",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_a_public_address_is_nothing_else(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert is_public(address)
    assert not is_private(address)


@pytest.mark.parametrize("text", PRIVATE)
def test_an_address_of_this_network_is_private_in_whatever_spelling(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not is_public(address)
    assert is_private(address)


@pytest.mark.parametrize("text", NEITHER)
def test_metadata_and_addresses_of_no_host_are_never_allowed(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not is_public(address)
    assert not is_private(address)


async def test_a_host_is_private_by_any_of_its_addresses() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return {"out.example": ["8.8.8.8"], "in.example": ["8.8.8.8", "fe80::1%eth0", "10.0.0.1"]}[host]

    assert not await is_private_host("https://out.example/wiki/", resolver=resolver)
    assert await is_private_host("http://in.example:8080", resolver=resolver)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/api.php", "http://localhost/", "http://2130706433/", "http://[::1]/"]
)
async def test_numbers_and_names_of_this_machine_are_private(url: str) -> None:
    assert await is_private_host(url)


async def test_a_person_without_a_network_is_told_so_in_a_line() -> None:
    async def in_trouble(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    with pytest.raises(WebError, match=r"wiki\.example.*Temporary failure.*network"):
        await is_private_host("https://wiki.example/", resolver=in_trouble)


async def test_no_address_is_not_a_public_one() -> None:
    with pytest.raises(WebError, match="https://"):
        await is_private_host("some words")
