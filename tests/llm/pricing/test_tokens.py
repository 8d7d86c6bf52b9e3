"""Tokens: the bound holds beside real tokenizers, whatever the text is about; the exact count is exact."""

from __future__ import annotations

import base64
import importlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ramet.llm.pricing import tokens
from ramet.llm.pricing.tokens import (
    FILE_TOKENS,
    IMAGE_TOKENS,
    MESSAGE_TOKENS,
    REQUEST_TOKENS,
    STRUCTURE_TOKENS,
    estimated_tokens,
    exact_counter,
    likely_tokens,
    text_tokens,
)
from tests.llm.pricing.sample_requests import asked

PROJECT = Path(__file__).parents[3]
quicktok = importlib.import_module("quicktok")  # it ships no types
AROUND = REQUEST_TOKENS + MESSAGE_TOKENS


def texts() -> dict[str, str]:
    """What people send: prose of several scripts, code, and data, which has more tokens than prose."""
    dice = random.Random(7)
    return {
        "prose": (PROJECT / "README.md").read_text(encoding="utf-8"),
        "code": (PROJECT / "src/ramet/model/lineage/limits.py").read_text(encoding="utf-8"),
        "json": json.dumps([{"id": number, "value": dice.random()} for number in range(500)]),
        "csv": "\n".join(",".join(str(dice.randrange(10)) for _ in range(20)) for _ in range(300)),
        "base64": base64.b64encode(dice.randbytes(10_000)).decode(),
        "digits": "".join(dice.choice("0123456789") for _ in range(10_000)),
        "marks": "!@#$%^&*()" * 500,
        "shouting": "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG. " * 100,
        "letters": " ".join(dice.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(5_000)),
        "emoji": "😀🎉🚀🧪" * 500,
        "german": "Heute ist schönes Wetter, da gehen wir spazieren. " * 100,
        "russian": "Сегодня хорошая погода, пойдём гулять. " * 100,
        "greek": "Καλημέρα κόσμε, τι κάνεις σήμερα; " * 100,
        "arabic": "مرحبا كيف حالك اليوم " * 100,
        "japanese": "今日は良い天気ですね。散歩に行きましょう。" * 100,
        "thai": "สวัสดีครับวันนี้อากาศดีมาก" * 100,
    }


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base", "llama3"])
def test_the_bound_holds_for_what_people_send(encoding: str) -> None:
    count = quicktok.get_encoding(encoding).encode_ordinary
    short = {name: text_tokens(text) / len(count(text)) for name, text in texts().items()}
    assert {name: ratio for name, ratio in short.items() if ratio < 1.0} == {}


@pytest.mark.parametrize("name", ["prose", "code"])
def test_the_bound_of_ordinary_text_is_no_more_than_three_times_the_truth(name: str) -> None:
    text = texts()[name]
    assert text_tokens(text) < 3 * len(quicktok.get_encoding("o200k_base").encode_ordinary(text))


def test_the_bound_is_never_below_a_third_of_the_bytes_and_a_tenth_more() -> None:
    for text in ("", "a", "aa", "aaaa", "é", "日本", "x" * 1_000, *texts().values()):
        assert text_tokens(text) >= len(text.encode()) / 3 * 1.1 - 1e-9


def test_openai_models_are_counted_exactly_others_by_the_bound() -> None:
    text = texts()["prose"]
    real = len(quicktok.get_encoding("o200k_base").encode_ordinary(text))
    for model in ("gpt-5.2", "gpt-4o-mini", "ft:gpt-4o:me::x", "o3", "gpt-4.1", "openai/gpt-5"):
        assert estimated_tokens(asked(text, model=model)) == AROUND + real, model
    old = len(quicktok.get_encoding("cl100k_base").encode_ordinary(text))
    assert estimated_tokens(asked(text, model="gpt-4-turbo")) == AROUND + old
    for model in ("claude-sonnet-4-5", "gpt-6-astra", "llama3", "gpt-45"):
        assert estimated_tokens(asked(text, model=model)) == AROUND + text_tokens(text), model


def test_words_with_a_meaning_for_tokenizers_are_text_like_any_other() -> None:
    assert estimated_tokens(asked("<|endoftext|>", model="gpt-5.2")) > AROUND + 3


def test_without_the_package_the_bound_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "find_spec", lambda name: None)
    fresh: Callable[[str], Any] = exact_counter.__wrapped__
    assert fresh("gpt-5.2") is None


def test_an_image_counts_at_its_most_and_its_bytes_do_not() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    parts = [{"type": "text", "text": "what is this"}, image, {"type": "input_image", "image_url": "https://x/y.png"}]
    found = estimated_tokens(asked(parts, model="claude-sonnet-4-5"))
    assert found == AROUND + text_tokens("what is this") + 2 * IMAGE_TOKENS
    assert estimated_tokens(asked([image], model="gpt-4o-mini")) > 5 * IMAGE_TOKENS - 1


def test_a_file_counts_by_its_data_or_at_its_most() -> None:
    here = {"type": "file", "file": {"file_data": "A" * 5_000}}
    there = {"type": "input_file", "file_url": "https://example.org/a.pdf"}
    assert AROUND + 5_000 <= estimated_tokens(asked([here], model="other")) < AROUND + 5_100
    assert estimated_tokens(asked([there], model="other")) >= FILE_TOKENS


def test_schema_and_tools_count() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    plain = estimated_tokens(asked(model="other"))
    assert estimated_tokens(asked(model="other", schema=schema)) > plain + STRUCTURE_TOKENS
    assert estimated_tokens(asked(model="other", parameters={"tools": [schema]})) > plain + STRUCTURE_TOKENS
    assert estimated_tokens(asked(model="other", parameters={"seed": 1})) == plain


def test_what_is_likely_is_below_the_bound() -> None:
    for text in texts().values():
        for model in ("other", "gpt-5.2"):
            assert likely_tokens(asked(text, model=model)) <= estimated_tokens(asked(text, model=model))
