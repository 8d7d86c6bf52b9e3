"""How an endpoint is named in a command, and which key goes to it."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from ramet.wiki.errors import EmbedderError

FORM = "openai:MODEL@BASE_URL, such as openai:text-embedding-3-small@https://api.openai.com/v1"
KEY = "RAMET_EMBEDDING_KEY"
"""The environment variable whose key goes to any endpoint that is named."""
OPENAI_KEY = "OPENAI_API_KEY"
"""The one that goes to `OPENAI_HOST` only: it is often set for other programs."""
OPENAI_HOST = "api.openai.com"
_PATH = "/embeddings"

_NAMED = re.compile(r"(?P<model>\S+?)@(?P<url>https?://\S+)", re.IGNORECASE)
_DIMENSIONS = re.compile(r"[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint and a model of it.

    Attributes:
        model: as the endpoint names it.
        url: what is posted to, `/embeddings` included. Holds no secret.
        host: with its port, where one was named.
        dimensions: how long vectors are asked for; None: as the model makes them.
    """

    model: str
    url: str
    host: str
    dimensions: int | None

    @property
    def model_id(self) -> str:
        """The model and who serves it: two servers may call different models by one name."""
        return f"openai:{self.model}@{self.host}"

    @property
    def resource(self) -> str:
        """What waits when the endpoint names a time to come back."""
        return f"embedding:{self.host}"


def read_endpoint(named: str) -> Endpoint:
    """Read `MODEL@BASE_URL`, with `?dimensions=NUMBER` or without. A base URL without a path means its `/v1`.

    Raises:
        EmbedderError: it is not of this form. What was named is not repeated, for it may hold a secret.
    """
    match = _NAMED.fullmatch(named)
    if match is None:
        raise EmbedderError(f"an endpoint is named as {FORM}")
    try:
        parts = urlsplit(match["url"])
        port = parts.port
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise EmbedderError(f"the endpoint's address cannot be read; it is named as {FORM}") from error
    host = (parts.hostname or "").rstrip(".")
    if not host:
        raise EmbedderError(f"the endpoint's address has no host; it is named as {FORM}")
    if "@" in parts.netloc:
        raise EmbedderError(f"no key or password may be in the endpoint's address: put it into {KEY}")
    if parts.fragment or [name for name, _ in options] not in ([], ["dimensions"]):
        raise EmbedderError("after the endpoint's address only ?dimensions=NUMBER is understood")
    if options and not _DIMENSIONS.fullmatch(options[0][1]):
        raise EmbedderError("dimensions is a whole number, such as ?dimensions=256")
    shown = f"[{host}]" if ":" in host else host
    shown = shown if port is None else f"{shown}:{port}"
    path = parts.path.rstrip("/").removesuffix(_PATH) or "/v1"
    return Endpoint(
        model=match["model"],
        url=f"{parts.scheme.lower()}://{shown}{path}{_PATH}",
        host=shown,
        dimensions=int(options[0][1]) if options else None,
    )


def key_for(endpoint: Endpoint, environment: Mapping[str, str] = os.environ) -> str | None:
    """The key that goes to an endpoint; None: none does, as servers of one's own often want none.

    Raises:
        EmbedderError: it would go over the network unencrypted, or cannot be a key.
    """
    key = environment.get(KEY, "").strip()
    if not key and endpoint.host == OPENAI_HOST:
        key = environment.get(OPENAI_KEY, "").strip()
    if not key:
        return None
    if not (key.isascii() and key.isprintable()):
        raise EmbedderError(f"what is in {KEY} or {OPENAI_KEY} is no key: it holds a character that no header may")
    if endpoint.url.startswith("http://") and not _on_this_machine(endpoint.host):
        raise EmbedderError(f"the key would go to {endpoint.host} unencrypted: name it with https, or unset {KEY}")
    return key


def _on_this_machine(host: str) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
