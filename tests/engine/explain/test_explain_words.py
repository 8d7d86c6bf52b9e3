"""Nothing that the engine refuses, ends or makes wait is without an explanation (promise I8)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ramet.engine.explain import ends, explain, paths, pending
from ramet.model.causes import BOUNDS, CODES, ENDED
from ramet.model.lineage.guard import BlockReason
from ramet.model.lineage.lineage import Lineage
from ramet.model.task import lifecycle

AGAIN = {"retry_storm", "retry_in", "lease_expired", "handed_back", "joined"}
"""Reasons of attempts after which the task is pending: told as what the task waits for."""


def codes_of(module: object) -> Iterator[str]:
    """The codes of the causes that a module makes, where they stand in its text."""
    for node in ast.walk(ast.parse(Path(str(getattr(module, "__file__", ""))).read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Cause":
            yield from (str(leaf.value) for leaf in ast.walk(node.args[0]) if isinstance(leaf, ast.Constant))


def reasons_of_lifecycle() -> set[str]:
    """Codes of all reasons that the state machine gives itself."""
    found = set[str]()
    for node in ast.walk(ast.parse(Path(str(lifecycle.__file__)).read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Reason":
            [code] = node.args
            found.add(str(code.value) if isinstance(code, ast.Constant) else getattr(lifecycle, ast.unparse(code)))
    return found


def test_every_reason_of_the_state_machine_has_an_explanation() -> None:
    found = reasons_of_lifecycle() - {"on_end_overdue"}  # Comes behind the reason of an end: its on_end handler's.
    assert {"poison", "attempts_exhausted", "retry_storm", "excluded", "no_progress"} <= found
    assert found - AGAIN - set(ENDED) == set()


def test_every_block_reason_has_a_code_and_no_code_is_without_a_reason() -> None:
    assert {code for code in CODES if code.startswith("refused_")} == {f"refused_{reason}" for reason in BlockReason}


def test_every_code_that_is_told_is_in_the_table() -> None:
    told = {code for module in (explain, ends, paths, pending) for code in codes_of(module)}
    told -= {"queue", "_full"}  # Parts of queue_full and kind_full.
    assert len(told) > 30
    assert told - set(CODES) == set()


def test_every_bound_names_a_field_of_a_lineage_or_its_deadline() -> None:
    names = {bound.limit_name for bound in BOUNDS.values()} - {"lineage_seconds"}
    assert names <= set(Lineage._fields)


def test_the_guide_lists_every_code_with_its_meaning_and_no_other() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "explaining.md").read_text()
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE))
    assert listed == dict(CODES)
