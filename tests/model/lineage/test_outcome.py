"""How clean a lineage is, and in which words."""

from __future__ import annotations

import pytest

from ramet.model.lineage.lineage import LineageOutcome, OutcomeKind, together

MANY = {"budget": 12_000, "cancelled": 3, "depth": 3, "stop_list": 7}


@pytest.mark.parametrize(
    ("outcome", "clean", "kinds", "words"),
    [
        (LineageOutcome(0, {}), True, ["clean"], "clean"),
        (LineageOutcome(1_234, {}), False, ["failures"], "with failures: 1,234"),
        (LineageOutcome(0, {"budget": 1}), False, ["incomplete"], "incomplete: 1 refused by budget"),
        (
            LineageOutcome(2, MANY), False, ["failures", "incomplete"],
            "with failures: 2; incomplete: 12,000 refused by budget, 7 refused by stop_list, 3 cancelled, "
            "3 refused by depth",
        ),
    ],
)  # fmt: skip
def test_an_outcome_has_kinds_and_words(outcome: LineageOutcome, clean: bool, kinds: list[str], words: str) -> None:
    assert (outcome.clean, [*outcome.kinds], str(outcome)) == (clean, [OutcomeKind(kind) for kind in kinds], words)


def test_the_outcomes_of_several_lineages_add_up() -> None:
    parts = [LineageOutcome(1, {"budget": 2}), LineageOutcome(0, {}), LineageOutcome(3, {"budget": 5, "depth": 1})]
    assert together(parts) == LineageOutcome(4, {"budget": 7, "depth": 1})
    assert together([]) == LineageOutcome(0, {})
