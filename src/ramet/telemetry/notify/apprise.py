"""Alerts by mail, chat and whatever else apprise speaks (extra ``alerts``).

``RAMET_ALERT_APPRISE`` holds addresses as apprise writes them, apart by spaces; ``RAMET_ALERT_APPRISE_FILE`` names a
file of apprise's own format, where a service tagged ``critical``, ``warning`` or ``message`` gets only those.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ramet import AlertNotice
from ramet.engine.alerts.channels import NotDelivered

URLS = "RAMET_ALERT_APPRISE"
"""Addresses of the services, as apprise writes them, separated by spaces. Read by workers."""
FILE = "RAMET_ALERT_APPRISE_FILE"
"""A file of such addresses in apprise's own format, with tags ``critical``, ``warning`` and ``message``."""
EXTRA = "'ramet[alerts]'"
LOGGERS = ("apprise", "urllib3.connectionpool")
"""Loggers of apprise, and of the libraries with which it asks services."""
REMEMBERED_MAX = 200
"""Notices of which a worker remembers who took them, so that a failure of one service repeats nothing to the others."""


class Apprise:
    """Tells every service that an alert is for."""

    def __init__(self, services: Sequence[Any], kinds: Any) -> None:
        self._services = services
        self._kinds = kinds
        self._took: OrderedDict[str, set[int]] = OrderedDict()
        self.target = ", ".join(sorted({str(service.service_name) for service in services}))

    async def send(self, notice: AlertNotice) -> None:
        """Tell the services that have not taken this notice yet.

        Raises:
            NotDelivered: some did not take it.
        """
        severity = "message" if notice.event == "message" else notice.body.get("alert", {}).get("severity", "warning")
        took = self._took.setdefault(notice.delivery_id, set())
        while len(self._took) > REMEMBERED_MAX:
            self._took.popitem(last=False)
        meant = [
            number
            for number, service in enumerate(self._services)
            if not service.tags or service.tags & {severity, "always", "all"}
        ]
        for number in meant:
            if number not in took and await asyncio.to_thread(self._send, self._services[number], notice, severity):
                took.add(number)
        failed = [str(self._services[number].service_name) for number in meant if number not in took]
        if failed:
            raise NotDelivered(f"{len(failed)} of {len(meant)} did not take it: {', '.join(sorted(set(failed)))}")

    def _send(self, service: Any, notice: AlertNotice, severity: str) -> bool:
        link = notice.body.get("alert", {}).get("link")
        told = [notice.body["text"], *notice.body.get("lines", ())]
        text = "\n".join(map(harmless, told)) + (f"\n{link}" if link else "")
        kind = {"resolved": self._kinds.SUCCESS, "message": self._kinds.INFO}.get(notice.event, self._kinds.WARNING)
        if severity == "critical" and notice.event != "resolved":
            kind = self._kinds.FAILURE
        try:
            return bool(service.notify(title=f"ramet: {notice.event}", body=text, notify_type=kind, body_format="text"))
        except Exception:
            # Its message contains the service's address, and that its passwords: only the failure is reported.
            return False


def harmless(text: str) -> str:
    """Return text that mentions no user and formats nothing where it is shown: titles and keys come from outside."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return plain.replace("@", "@\N{ZERO WIDTH SPACE}").replace("<", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}")


def apprise(environment: Mapping[str, str] | None = None) -> Apprise | None:
    """Return the channel, when it is configured.

    Raises:
        ValueError: it is configured wrongly; one line, without any address.
    """
    given = os.environ if environment is None else environment
    urls, file = given.get(URLS, "").split(), given.get(FILE, "").strip()
    if not urls and not file:
        return None
    try:
        package: Any = importlib.import_module("apprise")
    except ModuleNotFoundError as error:
        raise ValueError(f"{URLS} needs the package 'apprise': install it with `pip install {EXTRA}`") from error
    # They log addresses, or the paths of those, and these hold passwords and tokens.
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    services = package.Apprise()
    for number, url in enumerate(urls, 1):
        if not services.add(url):
            raise ValueError(f"address {number} of {URLS} is none that apprise knows")
    if file:
        if not Path(file).is_file():
            raise ValueError(f"{FILE} names no file that can be read")
        config = package.AppriseConfig()
        known = len(services)
        if not config.add(str(Path(file).absolute())) or not services.add(config) or len(services) == known:
            raise ValueError(f"{FILE} holds no service that apprise knows")
    return Apprise([*services], package.NotifyType)
