"""Alerts as signed JSON over HTTP (docs/concepts/monitoring.md).

``RAMET_ALERT_WEBHOOK_URL`` has the address, ``RAMET_ALERT_WEBHOOK_SECRET`` the key of the signature. The signature
covers the time and the body, so that others can neither repeat an old notice nor write one.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
import ssl
import time
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from ramet import AlertNotice, __version__
from ramet.engine.alerts.channels import NotDelivered

URL = "RAMET_ALERT_WEBHOOK_URL"
"""URL that notices of alerts are posted to; unset: none. Read by workers."""
SECRET = "RAMET_ALERT_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
"""Secret that signs the notices, at least 16 characters."""
ALLOW_HTTP = "RAMET_ALERT_WEBHOOK_ALLOW_HTTP"
"""``1`` allows an address of plain http that is not on this machine."""
SECRET_CHARACTERS_MIN = 16
SEND_SECONDS = 20.0
STATUS_BYTES_MAX = 1_024
TOLERANCE_SECONDS = 300.0
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b")
_PLAIN = re.compile(r"[!-~]+")


def sign(secret: str, body: bytes, at: int) -> str:
    """Return the header ``X-Ramet-Signature`` of a body that is sent at this time (Unix seconds)."""
    signature = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={signature}"


def verify(secret: str, header: str, body: bytes, now: float, tolerance_seconds: float = TOLERANCE_SECONDS) -> bool:
    """Return whether a recent signature of this body was made with the secret; for receivers."""
    found = re.fullmatch(r"t=(\d{1,15}),v1=[0-9a-f]{64}", header)
    if found is None or abs(now - int(found[1])) > tolerance_seconds:
        return False
    return hmac.compare_digest(sign(secret, body, int(found[1])), header)


class Webhook:
    """Posts each notice to one address. It follows no redirect and reads no more than the status of an answer."""

    def __init__(self, url: str, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._parts = urlsplit(url)
        self._secret = secret
        self._clock = clock
        self.target = f"{self._parts.scheme}://{self._parts.netloc}/..."

    async def send(self, notice: AlertNotice) -> None:
        """Post it; any answer 200 to 299 means that it was received.

        Raises:
            NotDelivered: it was not, or that is unknown.
        """
        body = json.dumps(notice.body, ensure_ascii=True, separators=(",", ":")).encode()
        try:
            async with asyncio.timeout(SEND_SECONDS):
                status = await self._post(notice, body)
        except TimeoutError:
            raise NotDelivered(f"no answer within {SEND_SECONDS:g} s") from None
        except ssl.SSLError as error:
            raise NotDelivered(f"no safe connection: {error.reason or type(error).__name__}") from None
        except OSError as error:
            raise NotDelivered(f"no connection: {error.strerror or type(error).__name__}") from None
        if 300 <= status < 400:
            raise NotDelivered(f"it answered {status}: redirects are not followed, set {URL} to where it leads")
        if not 200 <= status < 300:
            raise NotDelivered(f"it answered {status}", again=status != 410)

    async def _post(self, notice: AlertNotice, body: bytes) -> int:
        parts, secure = self._parts, self._parts.scheme == "https"
        assert parts.hostname is not None
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port or (443 if secure else 80), limit=STATUS_BYTES_MAX,
            ssl=ssl.create_default_context() if secure else None,
        )  # fmt: skip
        try:
            writer.write(self._head(notice, body) + body)
            await writer.drain()
            try:
                line = await reader.readuntil(b"\n")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                raise NotDelivered("the connection ended without an answer") from None
        finally:
            writer.transport.abort()
        found = _STATUS.match(line)
        if found is None:
            raise NotDelivered("the answer is not HTTP")
        return int(found[1])

    def _head(self, notice: AlertNotice, body: bytes) -> bytes:
        parts = self._parts
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        lines = [
            f"POST {path} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"User-Agent: ramet/{__version__}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            f"X-Ramet-Event: {notice.event}",
            f"X-Ramet-Delivery: {notice.delivery_id}",
            f"X-Ramet-Signature: {sign(self._secret, body, int(self._clock()))}",
            "Connection: close",
            "",
            "",
        ]
        return "\r\n".join(lines).encode("ascii")


def webhook(environment: Mapping[str, str] | None = None) -> Webhook | None:
    """Return the channel, when it is configured.

    Raises:
        ValueError: it is configured wrongly; one line, without what was given.
    """
    given = os.environ if environment is None else environment
    url, secret = given.get(URL, "").strip(), given.get(SECRET, "")
    if not url:
        return None
    if len(secret) < SECRET_CHARACTERS_MIN:
        raise ValueError(f"set {SECRET} to {SECRET_CHARACTERS_MIN} or more characters that only the receiver knows")
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError(f"{URL} is not a valid address: give https://HOST/PATH") from None
    if not sound or not _PLAIN.fullmatch(url) or parts.fragment or "@" in parts.netloc:
        raise ValueError(f"{URL} is not a valid address: give https://HOST/PATH, in ASCII, without user and fragment")
    if parts.scheme == "http" and not _loopback(parts) and given.get(ALLOW_HTTP) != "1":
        raise ValueError(f"{URL} is not https: anybody on the way could read it; {ALLOW_HTTP}=1 allows it all the same")
    return Webhook(url, secret)


def _loopback(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
