"""Ceilings: what fits, what a refusal says, and when asking again makes sense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.money import (
    AMOUNT_MAX,
    DAY_SECONDS,
    SETTLING_SECONDS,
    Ceiling,
    amount_of,
    as_usd,
    ceiling_passed,
    day_of,
    nothing_stuck,
    refusal,
)
from ramet.model.reasons import Fact, Reason, block_words

NOON = 20_000 * DAY_SECONDS + DAY_SECONDS / 2


def ceiling(name: str = "lineage", spent: int = 0, reserved: int = 0, most: int | None = 100) -> Ceiling:
    return Ceiling(name, spent, reserved, most)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.one_of(st.none(), st.integers(0, 100)))
def test_an_amount_fits_exactly_while_everything_together_stays_at_or_under_the_ceiling(
    spent: int, reserved: int, amount: int, most: int | None
) -> None:
    refused = refusal(amount, [ceiling("lineage", spent, reserved, most)], NOON)
    assert (refused is None) == (most is None or spent + reserved + amount <= most)


def words_of(refused: tuple[dict[str, Fact], float | None]) -> str:
    return block_words("reserve", refused[0])


def test_room_that_is_only_reserved_may_come_back_soon() -> None:
    refused = refusal(60, [ceiling(spent=10, reserved=50)], NOON)
    assert refused is not None
    assert (words_of(refused), refused[1]) == (
        "the ceiling of the lineage is $0.0000001: $0.00000001 spent, $0.00000005 reserved, $0.00000004 left, "
        "$0.00000006 wanted",
        SETTLING_SECONDS,
    )


@pytest.mark.parametrize("name", ["lineage", "global"])
def test_room_that_is_spent_never_comes_back(name: str) -> None:
    refused = refusal(60, [ceiling(name, spent=50)], NOON)
    assert refused is not None
    assert refused[1] is None


def test_a_day_has_room_again_tomorrow_unless_the_amount_never_fits() -> None:
    refused = refusal(60, [ceiling("day", spent=50)], NOON)
    assert refused is not None
    assert refused[1] == DAY_SECONDS / 2
    refused = refusal(101, [ceiling("day")], NOON)
    assert refused is not None
    assert refused[1] is None


def test_of_several_ceilings_the_one_that_holds_longest_speaks() -> None:
    bounds = [ceiling("day", spent=60), ceiling("global", spent=60), ceiling(reserved=60)]
    refused = refusal(60, bounds, NOON)
    assert refused is not None
    assert words_of(refused).startswith("the ceiling of the global")
    assert refused[1] is None


@given(st.integers(0, 150), st.one_of(st.none(), st.integers(0, 100)), st.one_of(st.none(), st.integers(0, 100)))
def test_the_lower_of_soft_and_hard_bounds_what_is_reserved_and_only_the_hard_one_is_passed(
    spent: int, most: int | None, soft: int | None
) -> None:
    bound = Ceiling("lineage", spent, 0, most, soft)
    both = [each for each in (most, soft) if each is not None]
    assert bound.reservable == (min(both) if both else None)
    assert bound.passed == (most is not None and spent > most)
    refused = refusal(0, [bound], NOON)
    assert (refused is not None) == any(spent > each for each in both)
    if refused is not None:
        lower_is_soft = soft is not None and (most is None or soft < most)
        assert words_of(refused).startswith("the soft ceiling" if lower_is_soft else "the ceiling")


@pytest.mark.parametrize("wrong", [-1, 1.0, True, "1", None, AMOUNT_MAX + 1])
def test_an_amount_is_a_whole_number_of_nano_dollars(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"to be reserved are .*: give whole nano-dollars"):
        amount_of(wrong, "to be reserved are")
    assert [amount_of(amount, "x") for amount in (0, 1, AMOUNT_MAX)] == [0, 1, AMOUNT_MAX]


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "$0.00"), (1, "$0.000000001"), (1_500_000_000, "$1.50"), (12_345_678_900_000_000, "$12,345,678.90"),
     (-10_000_000, "-$0.01")],
)  # fmt: skip
def test_amounts_are_written_in_dollars_to_the_last_digit(amount: int, text: str) -> None:
    assert as_usd(amount) == text


def test_a_task_whose_call_was_in_flight_is_told_which_ceiling_was_passed() -> None:
    reason = Reason("cost", **ceiling_passed(ceiling("day", spent=3_000_000_000, most=2_000_000_000)))
    assert reason == "cost: the ceiling of the day is $2.00, $3.00 spent"


def test_a_day_begins_at_midnight_utc() -> None:
    assert (day_of(0.0), day_of(DAY_SECONDS - 0.001), day_of(DAY_SECONDS), day_of(NOON)) == (0, 0, 1, 20_000)


@pytest.mark.parametrize(
    ("most", "soft", "words"),
    [
        (100, None, "the ceiling of the lineage is $0.0000001"),
        (100, 100, "the ceiling of the lineage is $0.0000001"),
        (100, 60, "the soft ceiling of the lineage is $0.00000006"),
        (None, 60, "the soft ceiling of the lineage is $0.00000006"),
        (60, 100, "the ceiling of the lineage is $0.00000006"),
    ],
)
def test_a_refusal_names_the_ceiling_that_is_met_first(most: int | None, soft: int | None, words: str) -> None:
    refused = refusal(101, [Ceiling("lineage", 0, 0, most, soft)], NOON)
    assert refused is not None
    assert words_of(refused).partition(":")[0] == words
    exact = min(bound for bound in (most, soft) if bound is not None)
    assert refusal(exact, [Ceiling("lineage", 0, 0, most, soft)], NOON) is None


@pytest.mark.parametrize(
    ("spent", "reserved", "left"),
    [(60, 30, "$0.00000001"), (60, 40, "nothing"), (60, 50, "nothing"), (101, 0, "nothing")],
)
def test_a_refusal_says_what_is_left(spent: int, reserved: int, left: str) -> None:
    refused = refusal(20, [ceiling("global", most=None), ceiling(spent=spent, reserved=reserved)], NOON)
    assert refused is not None
    assert f" reserved, {left} left, $0.00000002 wanted" in words_of(refused)


def test_every_ceiling_is_asked_and_room_may_come_back_up_to_exactly_the_ceiling() -> None:
    roomy, full = ceiling("total"), ceiling(spent=40, reserved=60)
    assert refusal(60, [roomy, full], NOON) == refusal(60, [full], NOON)
    assert [(refusal(amount, [full], NOON) or ("", 0.0))[1] for amount in (60, 61)] == [SETTLING_SECONDS, None]
    day = ceiling("day", spent=50)
    assert [(refusal(amount, [day], NOON) or ("", 0.0))[1] for amount in (100, 101)] == [DAY_SECONDS / 2, None]


def test_of_two_ceilings_without_room_for_ever_the_soft_one_is_told() -> None:
    """Its room can be widened without raising what a person has to answer for."""
    hard, soft = Ceiling("lineage", 100, 0, 100), Ceiling("branch", 50, 0, 100, 50)
    for order in ([hard, soft], [soft, hard]):
        told = refusal(200, order, NOON)
        assert told is not None
        assert (told[0]["ceiling"], told[0]["soft"], told[1]) == ("branch", True, None)


def test_what_only_waiting_tasks_hold_counts_as_spent() -> None:
    full = Ceiling("lineage", 40, 60, 100)
    facts, seconds = refusal(10, [full], NOON, lambda ceiling: 60) or ({}, 0.0)
    assert (facts["stuck"], seconds) == (True, None)
    facts, seconds = refusal(10, [full], NOON, lambda ceiling: 59) or ({}, None)
    assert "stuck" not in facts
    assert seconds is not None


def test_what_nobody_reserved_is_not_stuck() -> None:
    assert nothing_stuck(ceiling(reserved=60)) == 0
    for full in (Ceiling("lineage", 95, 0, 100), Ceiling("lineage", 94, 1, 100)):
        facts, _ = refusal(10, [full], NOON) or ({}, None)
        assert facts == {
            "ceiling": "lineage", "soft": False, "limit": 100, "spent": full.spent, "reserved": full.reserved,
            "wanted": 10,
        }  # fmt: skip
    facts, _ = refusal(10, [Ceiling("lineage", 95, 0, 100)], NOON, lambda ceiling: 0) or ({}, None)
    assert "stuck" not in facts
    facts, seconds = refusal(10, [Ceiling("day", 40, 60, 100)], NOON, lambda ceiling: 60) or ({}, None)
    assert (facts["stuck"], seconds) == (True, DAY_SECONDS / 2)
