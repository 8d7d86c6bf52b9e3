"""The sums of a mutation run: nothing counts as noticed that was not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mutation.__main__ import PROJECT, Mutant, lines_of, mutants, outcome, sampled, say
from tests.mutation.equivalent import EQUIVALENT, same_meaning

GUARD = "ramet.model.lineage.guard.x_check_spawn__mutmut_"
DIFF = """# ramet.model.lineage.guard.x_check_spawn__mutmut_1: survived
--- src/ramet/model/lineage/guard.py
+++ src/ramet/model/lineage/guard.py
@@ -1,3 +1,3 @@
 def check_spawn():
-    return a < b
+    return a <= b
"""


def test_a_change_is_told_by_the_function_and_its_lines() -> None:
    assert lines_of(DIFF) == ("return a < b", "return a <= b")
    assert Mutant(f"{GUARD}1", "killed").function == "guard.check_spawn"
    assert Mutant("ramet.model.urls.x__host__mutmut_3", "killed").function == "urls._host"
    assert (
        Mutant("ramet.model.flow.resources.xǁRateǁ_since_cut__mutmut_2", "killed").function
        == "resources.Rate._since_cut"
    )


def test_every_status_of_mutmut_is_read_and_an_unknown_one_decides_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "src/ramet/model"
    folder.mkdir(parents=True)
    statuses = {f"{GUARD}{at}": status for at, status in enumerate([1, 0, 33, -24, None, -9])}
    (folder / "guard.py.meta").write_text(json.dumps({"exit_code_by_key": statuses}))
    assert [each.verdict for each in mutants(tmp_path)] == [
        "killed", "survived", "survived", "timeout", "undecided", "undecided",
    ]  # fmt: skip


def test_a_survivor_counts_as_equivalent_only_where_the_list_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = ["killed", "timeout", "survived", "survived", "undecided"]
    found = [(Mutant(f"{GUARD}{at}", verdict), (f"old {at}", "new")) for at, verdict in enumerate(verdicts)]
    listed = ("guard.check_spawn", "old 3", "new")
    killed = ("guard.check_spawn", "old 0", "new")
    told = outcome(found, [listed, killed])
    assert told.counts == {"killed": 1, "timeout": 1, "survived": 1, "equivalent": 1, "undecided": 1}
    assert told.share == pytest.approx(2 / 3)
    assert told.survivors == (f"{GUARD}2\n    - old 2\n    + new",)
    assert told.unused == (killed,)
    say(told)
    said = capsys.readouterr().out
    assert "5 changes: 1 killed, 1 timeout, 1 survived, 1 equivalent, 1 undecided\n66.67% of" in said
    assert "equivalent, but not found: ('guard.check_spawn', 'old 0', 'new')" in said


def test_every_equivalent_change_has_its_reason_and_its_line() -> None:
    for change, reason in EQUIVALENT.items():
        assert len(reason.split()) > 3, change
        module, old = change[0].partition(".")[0], "".join(change[1].split())
        files = (PROJECT / "src/ramet/model").rglob(f"{module}.py")
        assert any(old in "".join(file.read_text().split()) for file in files), change


def test_a_sample_is_the_same_for_a_seed_and_has_bounds_around_its_share() -> None:
    names = [f"{GUARD}{at}" for at in range(100)]
    some = sampled(names, 10, 3)
    assert some == sampled(names[::-1], 10, 3)
    assert len({*some}) == 10
    assert some != sampled(names, 10, 4)
    assert sampled(names, 200, 3) != names
    assert sorted(sampled(names, 200, 3)) == sorted(names)
    told = outcome([(Mutant(name, "killed" if at else "survived"), ("", "")) for at, name in enumerate(names)], [])
    low, high = told.bounds()
    assert low < told.share == 0.99 < high < 1
    assert (round(low, 3), round(high, 3)) == (0.946, 0.998)


@pytest.mark.parametrize(
    ("survived", "of", "alone", "as_sample"),
    [
        (4, 100, True, True), (6, 100, False, True), (9, 100, False, True), (10, 100, False, False),
        (16, 200, False, True), (17, 200, False, False), (0, 1, True, True), (1, 1, False, False),
    ],
)  # fmt: skip
def test_a_sample_fails_where_its_whole_interval_is_below_the_bar(
    survived: int, of: int, alone: bool, as_sample: bool
) -> None:
    verdicts = ["survived"] * survived + ["killed"] * (of - survived)
    told = outcome([(Mutant(f"{GUARD}{at}", verdict), ("a", "b")) for at, verdict in enumerate(verdicts)], [])
    assert told.enough(sample=False) is alone
    assert told.enough(sample=True) is as_sample


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('text.encode("utf-8", "strict")', 'text.encode("UTF-8", "strict")', True),
        ('raw.decode("ascii")', 'raw.decode("ASCII")', True),
        ('raw.decode("ascii")', 'raw.decode("XXasciiXX")', False),
        ('float("inf")', 'float("INF")', True),
        ('Decimal("NaN")', 'Decimal("NAN")', True),
        ('Decimal("NaN")', 'Decimal("1")', False),
        ("dumps(value, ensure_ascii=False)", "dumps(value, ensure_ascii=None)", True),
        ("dumps(value, ensure_ascii=False)", "dumps(value, ensure_ascii=True)", False),
        ('name = "ascii"', 'name = "ASCII"', False),
        ("told(known=False)", "told(known=None)", False),
    ],
)
def test_a_name_without_case_and_none_for_false_change_nothing(old: str, new: str, same: bool) -> None:
    assert same_meaning(old, new) is same
    told = outcome([(Mutant(f"{GUARD}1", "survived"), (old, new))], [])
    assert told.counts["equivalent"] == int(same)
