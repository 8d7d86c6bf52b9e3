"""Batches of an account at Anthropic, as a scripted server tells them."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from ramet.llm.providers.anthropic_batches import AnthropicBatches, mark_of, name_of
from tests.llm.providers.scripted_server import Call, Said

KEY = "0123456789abcdef" * 4
OnScript = Callable[[Callable[[Call], Said]], AnthropicBatches]
"""What the fixture `on_script` gives."""


def batch(remote_id: str = "msgbatch_1", *, state: str = "ended", **more: object) -> dict[str, object]:
    counts = {"processing": 1, "succeeded": 2, "errored": 0, "canceled": 0, "expired": 3}
    return {
        "id": remote_id, "type": "message_batch", "processing_status": state, "request_counts": counts,
        "created_at": "2026-11-18T11:06:50Z", "expires_at": "2026-11-19T11:06:50Z",
        "results_url": "http://203.0.113.1/results",
    } | more  # fmt: skip


def line(key: str = KEY, submit_key: str = "s", **result: object) -> bytes:
    found = result or {"type": "expired"}
    return json.dumps({"custom_id": name_of(key, mark_of(submit_key)), "result": found}).encode() + b"\n"


class Account:
    """The batches of an account: id -> (state, when it was created, the submit key in its results)."""

    def __init__(self, *batches: tuple[str, str, str, str], page: int = 1000) -> None:
        self.batches = list(batches)
        self.page = page
        self.calls: list[str] = []

    def __call__(self, call: Call) -> Said:
        parts = urlsplit(call.path)
        self.calls.append(parts.path.removeprefix("/v1/messages/batches"))
        if parts.path.endswith("/results"):
            remote_id = parts.path.split("/")[-2]
            return Said(200, next(line(KEY, found[3]) for found in self.batches if found[0] == remote_id))
        after = parse_qs(parts.query).get("after_id")
        begin = [found[0] for found in self.batches].index(after[0]) + 1 if after else 0
        listed = self.batches[begin : begin + self.page]
        data = [batch(found[0], state=found[1], created_at=found[2]) for found in listed]
        return Said(200, {"data": data, "has_more": begin + self.page < len(self.batches)})
