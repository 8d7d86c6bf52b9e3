"""The index of vectors: made where the extension is, kept up by writes, and never taken for exact."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from ramet.wiki.errors import GraphError
from ramet.wiki.graphs import ladybug_file
from ramet.wiki.graphs.ladybug import LadybugGraph

PROJECT = Path(__file__).parents[3]


@pytest.mark.process
@pytest.mark.parametrize(
    "scenario", ["ranked_exactly", "kept_up", "not_written_without_the_extension", "left_out_where_small"]
)
def test_an_index_is(scenario: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("kuzu") is None:
        pytest.skip("the development dependency kuzu is not installed")
    command = [sys.executable, "-m", "tests.wiki.graphs.indexed_graph", scenario, str(tmp_path / "graph")]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_without_the_extension_search_is_exact_and_no_index_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    monkeypatch.setattr(ladybug_file, "INDEXED_FROM_SECTIONS", 0)
    monkeypatch.delenv(ladybug_file.EXTENSION_PATH, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with LadybugGraph.open_writer(tmp_path / "graph.lbug", model_id="m", dimension=3) as graph:
        graph.build_vector_index()
        assert graph.vector_index == "exact"
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [], "nothing was installed"


@pytest.mark.parametrize(
    ("named", "said"),
    [("vector.so", "must be an absolute path"), ("/no'where", "must be an"), ("/nowhere/v.so", "cannot load /nowhere")],
)
def test_an_extension_that_is_named_must_be_loadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, said: str
) -> None:
    pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    monkeypatch.setenv(ladybug_file.EXTENSION_PATH, named)
    with pytest.raises(GraphError, match=said) as refused:
        LadybugGraph.open_writer(tmp_path / "graph.lbug", model_id="m", dimension=3)
    assert "\n" not in str(refused.value)
