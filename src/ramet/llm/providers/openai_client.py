"""The client of every provider that speaks OpenAI's API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ramet.llm.providers.sdk_calls import Caller, Reply

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"


class Client(Caller):
    """OpenAI's SDK with our transport; see `Caller`."""

    def __init__(
        self, *, base_url: str | None, api_key: str | None, organization: str | None = None, strict: bool = False
    ) -> None:
        """Connect to nothing yet.

        Args:
            base_url: of a compatible server, ``http://localhost:8000/v1``; None: OpenAI itself.
            api_key: None for a server that asks for none.
            organization: OpenAI's, if the key belongs to several.
            strict: whether answers must be exactly what the SDK's types say; for tests.

        Raises:
            ExtraMissing, LlmError: as for `Caller`.
        """
        url = (base_url or OPENAI_URL).rstrip("/")
        self._strict = strict
        super().__init__("openai", url, api_key)
        self.sdk: AsyncOpenAI = self._module.AsyncOpenAI(
            # The SDK insists on some key; servers that ask for none ignore it.
            api_key=api_key or "none",
            admin_api_key="",
            base_url=url,
            max_retries=0,
            http_client=self.http,
            _strict_response_validation=strict,
        )
        # The SDK fills these from the environment when they are not given.
        self.sdk.organization = organization
        self.sdk.project = None
        self.sdk._custom_headers = {}

    def _read(self, raw: Any) -> Reply:
        reply = super()._read(raw)
        if self._strict:
            # Otherwise the SDK takes any shape, and stumbles over some of them with errors of Python's own.
            raw.parse()
        return reply
