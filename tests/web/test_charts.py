"""Charts and quantiles: every bar stands inside of its plot, and says what it counts."""

from __future__ import annotations

import pytest

from ramet.model.tallies import BUCKETS_SECONDS, Histogram
from ramet.web.views.overview import HEIGHT, WIDTH, bars, quantile, stacked


def test_bars_stand_on_the_axis_inside_of_the_plot_however_unlike_they_are() -> None:
    made = stacked([(1.0, 1, 0), (2.0, 999_990, 7), (3.0, 0, 0)])
    assert made.most == 1_000_000
    assert made.total == 999_998
    for bar in made.bars:
        assert bar.good_y + bar.good_height == pytest.approx(HEIGHT)
        assert bar.bad_y + bar.bad_height == pytest.approx(bar.good_y)
        assert bar.bad_y >= 0
        assert bar.x + bar.width <= WIDTH
    assert made.bars[0].good_height > 1, "one among a million is seen"
    assert made.bars[2].good_height == 0


def test_a_chart_of_nothing_is_a_chart() -> None:
    assert bars([]).total == 0
    assert stacked([(0.0, 0, 0)]).most == 1


def histogram(**counts: int) -> Histogram:
    numbers = [0] * (len(BUCKETS_SECONDS) + 1)
    for name, count in counts.items():
        numbers[int(name[1:])] = count
    return Histogram(tuple(numbers), 0.0)


def test_a_quantile_is_the_end_of_the_bucket_in_which_it_lies() -> None:
    assert quantile(histogram(), 0.5) is None
    assert quantile(histogram(b0=1), 0.5) == BUCKETS_SECONDS[0]
    assert quantile(histogram(b0=50, b5=50), 0.5) == BUCKETS_SECONDS[0]
    assert quantile(histogram(b0=50, b5=50), 0.51) == BUCKETS_SECONDS[5]
    assert quantile(histogram(b16=1), 0.95) == BUCKETS_SECONDS[-1], "beyond the last only its begin is known"
