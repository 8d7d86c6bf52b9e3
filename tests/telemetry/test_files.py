"""The board, the rules and the page name only what is measured, and are what the program would write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
import yaml

from docs.generate_metrics import PAGE, page
from ramet.telemetry.families import BY_NAME, FAMILIES, board_text

RULES = yaml.safe_load((files("ramet.telemetry") / "files" / "prometheus.rules.yaml").read_text())
FUNCTIONS = {"sum", "rate", "increase", "histogram_quantile", "max", "min"}
WORDS = {"by", "and", "or", "unless", "on"}
SAMPLES = {name: family for family in FAMILIES for name in family.samples}
RECORDED = {rule["record"] for group in RULES["groups"] for rule in group["rules"] if "record" in rule}


def expressions() -> Iterator[str]:
    for panel in json.loads(board_text())["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]
    for group in RULES["groups"]:
        for rule in group["rules"]:
            yield rule["expr"]


def faults(expr: str) -> list[str]:
    """What is wrong with a PromQL expression, as far as a small check can tell."""
    found = []
    bare = re.sub(r'"[^"]*"', '""', expr)
    for left, right in ("()", "{}", "[]"):
        depth = 0
        for character in bare:
            depth += (character == left) - (character == right)
            if depth < 0:
                break
        if depth:
            found.append(f"unbalanced {left}{right}")
    for by in re.findall(r"\bby \(([^)]*)\)", bare):
        found += [f"label {label}" for label in by.replace(" ", "").split(",") if not known_label(label)]
    outside = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)", " ", bare)
    for word in re.findall(r"[A-Za-z_:][\w:]*", outside):
        if word not in FUNCTIONS | WORDS | RECORDED | SAMPLES.keys():
            found.append(f"unknown {word}")
    for name, matchers in re.findall(r"([a-z_:]\w*)\{([^}]*)\}", bare):
        labels = {*SAMPLES[name].labels, "le"} if name in SAMPLES else set()
        found += [f"{name} has no {label}" for label in re.findall(r"(\w+)=", matchers) if label not in labels]
    for name in re.findall(r"\b(?:rate|increase)\(\s*(\w+)", bare):
        if name in SAMPLES and SAMPLES[name].type == "gauge":
            found.append(f"a rate of the gauge {name}")
    return found


def known_label(label: str) -> bool:
    return label == "le" or any(label in family.labels for family in FAMILIES)


@pytest.mark.parametrize("expr", list(expressions()))
def test_every_question_is_about_what_is_measured(expr: str) -> None:
    assert faults(expr) == []


@pytest.mark.parametrize(
    "expr",
    [
        "sum(ramet_gone)", "sum by (colour) (ramet_workers)", "rate(ramet_workers[5m])", "sum(ramet_workers", "avg(x)",
        'ramet_workers{kind="a"}',
    ],
)  # fmt: skip
def test_the_check_finds_what_is_wrong(expr: str) -> None:
    assert faults(expr)


def test_the_committed_page_is_what_would_be_written() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make docs"


def test_every_alert_has_a_severity_and_says_what_is_wrong() -> None:
    alerts = [rule for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]
    assert len({rule["alert"] for rule in alerts}) == len(alerts) > 10
    for rule in alerts:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"].endswith(".")


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    panels: list[dict[str, Any]] = json.loads(board_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert all(x < 24 for x, _ in cells)
        taken |= cells


def test_names_follow_the_conventions_and_are_told_once() -> None:
    assert len(BY_NAME) == len(FAMILIES)
    for family in FAMILIES:
        assert family.name.startswith("ramet_")
        assert family.name.endswith("_total") == (family.type == "counter")
        assert family.help.endswith(".")
        assert not {"task_id", "tracking_id", "key"} & set(family.labels)
