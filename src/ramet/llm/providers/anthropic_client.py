"""The client of Anthropic's API, and of servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ramet.llm.errors import ProviderError
from ramet.llm.providers.anthropic_faults import anthropic_fault
from ramet.llm.providers.anthropic_rates import rates_from
from ramet.llm.providers.base import Rate
from ramet.llm.providers.sdk_calls import Caller, Reply

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_EXTRA = "'ramet[anthropic]'"
"""The extra that installs the SDK, as a shell is told."""


class AnthropicClient(Caller):
    """Anthropic's SDK with our transport; see `Caller`."""

    def __init__(self, *, base_url: str | None, api_key: str | None, strict: bool = False) -> None:
        """Connect to nothing yet.

        Args:
            base_url: of a compatible server, without ``/v1``; None: Anthropic itself.
            api_key: None for a server that asks for none.
            strict: whether answers must be exactly what the SDK's types say; for tests.

        Raises:
            ExtraMissing, LlmError: as for `Caller`.
        """
        url = (base_url or ANTHROPIC_URL).rstrip("/")
        super().__init__("anthropic", url, api_key, extra=ANTHROPIC_EXTRA)
        self.sdk: AsyncAnthropic = self._module.AsyncAnthropic(
            # The SDK looks into the environment when it is given no key; servers that ask for none ignore it.
            api_key=api_key or "none",
            base_url=url,
            max_retries=0,
            http_client=self.http,
            open_telemetry=False,
        )
        # The SDK fills these from the environment.
        self.sdk._custom_headers = {}
        self._strict = strict

    def _read(self, raw: Any) -> Reply:
        reply = super()._read(raw)
        if self._strict:
            types = self._module.types
            known = {"message": types.Message, "message_batch": types.messages.MessageBatch}
            if reply.body.get("type") in known:
                known[reply.body["type"]].model_validate(reply.body)
        return reply

    def _fault(
        self, status: int, headers: Mapping[str, str], body: object, *, submit: bool, batch: bool
    ) -> ProviderError:
        return anthropic_fault(status, headers, body, host=self.host, key=self._key, submit=submit, batch=batch)

    def _rates(self, headers: Mapping[str, str]) -> tuple[Rate, ...]:
        return rates_from(headers)
