"""Which names lead elsewhere, and which never do."""

from __future__ import annotations

import pytest

from ramet.commands.errors import UserError
from ramet.fetch.host_map import HostMap, is_number

HERE = ("127.0.0.1", 8443)


def mapped(text: str) -> HostMap:
    return HostMap.parse(text, "CONNECT")


@pytest.mark.parametrize(
    ("rules", "host", "port", "target"),
    [
        ("*=127.0.0.1:8443", "boards-api.greenhouse.io", 443, HERE),
        ("*=127.0.0.1:8443", "Jobs.Example.", 80, HERE),
        ("a.example=127.0.0.1:8443", "a.example", 443, HERE),
        ("a.example=127.0.0.1:8443", "b.a.example", 443, None),
        ("*.a.example=127.0.0.1:8443", "b.a.example", 443, HERE),
        ("*.a.example=127.0.0.1:8443", "a.example", 443, None),
        ("*.a.example=127.0.0.1:8443", "eva.example", 443, None),
        ("*:80=127.0.0.1:8080, *=127.0.0.1:8443", "a.example", 80, ("127.0.0.1", 8080)),
        ("*:80=127.0.0.1:8080, *=127.0.0.1:8443", "a.example", 443, HERE),
        ("*:80=127.0.0.1:8080", "a.example", 443, None),
        ("*=[::1]:8443", "a.example", 443, ("::1", 8443)),
        ("", "a.example", 443, None),
        ("*=127.0.0.1:8443", "localhost", 443, None),
        ("*=127.0.0.1:8443", "sub.localhost", 443, None),
        ("localhost=127.0.0.1:8443", "localhost", 443, HERE),
    ],
)
def test_the_first_rule_that_fits_counts(rules: str, host: str, port: int, target: tuple[str, int] | None) -> None:
    assert mapped(rules).target(host, port) == target


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "10.0.0.1", "[::1]", "::1", "2130706433", "0x7f.1", "127.1", "fe80::1%lo"]
)
def test_a_number_leads_where_it_says(host: str) -> None:
    assert is_number(host)
    assert mapped("*=127.0.0.1:8443").target(host, 443) is None


@pytest.mark.parametrize("host", ["a.example", "7.example", "localhost", "xn--bcher-kva.example", "ä.example"])
def test_a_name_is_no_number(host: str) -> None:
    assert not is_number(host)


@pytest.mark.parametrize(
    "text", ["a.example", "a.example=", "a.example=127.0.0.1", "a.example=host.example:1", "*=127.0.0.1:0",
             "=127.0.0.1:1", "*=127.0.0.1:99999", "a b=127.0.0.1:1", "*.=x"]
)  # fmt: skip
def test_a_rule_that_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(UserError, match=r"CONNECT has .*give HOST=ADDRESS:PORT") as raised:
        mapped(text)
    assert "\n" not in str(raised.value)
