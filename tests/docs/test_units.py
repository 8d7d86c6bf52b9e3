"""The systemd units of docs/guides/deploy.md: whole, with commands that exist, and with time for a drain."""

from __future__ import annotations

import configparser
import re

import pytest

from ramet.model.lineage.limits import Limits
from tests.docs.pages import DOCS, blocks_of, text_of
from tests.project.test_docs import unknown_words

KNOWN_SECTIONS = {"Unit", "Service", "Timer", "Install"}


def units() -> dict[str, configparser.RawConfigParser]:
    """Every unit of the page, by the name of its file. A key that is given twice is an error."""
    found = {}
    for block in blocks_of(text_of(DOCS / "guides" / "deploy.md"), "ini"):
        name = re.match(r"# /etc/systemd/system/([\w@.-]+)$", block.partition("\n")[0])
        assert name is not None, block
        found[name[1]] = configparser.RawConfigParser()
        found[name[1]].optionxform = str  # type: ignore[assignment, method-assign]  # systemd's names have capitals
        found[name[1]].read_string(block)
    return found


def test_the_page_has_the_units_that_it_speaks_of() -> None:
    page = text_of(DOCS / "guides" / "deploy.md")
    assert {re.sub(r"@?\.\w+$", "", name) for name in units()} == set(re.findall(r"\bramet-(?:\w+)\b", page)) - {
        "ramet-worker@1"
    }


@pytest.mark.parametrize("name", units())
def test_a_unit_is_whole(name: str) -> None:
    unit = units()[name]
    assert set(unit.sections()) <= KNOWN_SECTIONS
    assert unit["Unit"]["Description"]
    if name.endswith(".service"):
        assert unit["Service"]["User"] == "ramet"
        assert unit["Service"]["EnvironmentFile"].startswith("/etc/ramet/")
        [words] = re.findall(r"/ramet ([^']+)", unit["Service"]["ExecStart"])
        assert unknown_words(words.split()) == []


def test_a_worker_has_time_to_drain() -> None:
    service = units()["ramet-worker@.service"]["Service"]
    assert float(service["TimeoutStopSec"]) > Limits().invocation_seconds
    assert (service["KillSignal"], service["KillMode"]) == ("SIGTERM", "mixed")
