"""Which texts are computed together."""

from __future__ import annotations

from collections.abc import Sequence


def group_by_length(lengths: Sequence[int], *, padded_max: int, count_max: int) -> list[list[int]]:
    """Put texts of about the same length together, so that little is computed for padding. Longest first.

    Args:
        lengths: of each text, in whatever unit.
        padded_max: most of (longest length x number of texts) in a group; a longer text is alone.
        count_max: most texts in a group.

    Returns:
        Groups of positions in `lengths`: each position once, and the same groups for the same lengths.
    """
    groups: list[list[int]] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda position: (-lengths[position], position)):
        if groups and len(groups[-1]) < count_max and longest * (len(groups[-1]) + 1) <= padded_max:
            groups[-1].append(position)
        else:
            groups.append([position])
            longest = lengths[position]
    return groups
