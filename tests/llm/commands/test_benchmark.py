"""The benchmark of chat mode, at a small size: every entrant answers every prompt, and its ratios are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.llm.chat import measure

pytestmark = [pytest.mark.network, pytest.mark.process]


def test_both_entrants_answer_everything_and_are_compared(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    told = measure(40, 8, 0.0, tmp_path, None)
    assert told["items"] == 40
    assert told["plain"]["speed_to_plain"] == told["plain"]["cpu_to_plain"] == 1.0
    assert told["ramet"]["items_per_s"] > 0
    assert len((tmp_path / "ramet.jsonl").read_text().splitlines()) == 40
