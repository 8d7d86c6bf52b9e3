"""The draw and the comparison, on a small pool that the test makes; the public pools are not needed."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ramet.jobs.posting import Posting
from ramet.jobs.text.posting_text import read_posting
from tests.jobs.sampled.evaluation import Label, evaluate, load_labels, pair, yearly
from tests.jobs.sampled.pools import (
    ANALYTICS,
    POOLS,
    SAMPLES,
    Item,
    Sample,
    can_be_drawn,
    draw,
    listings,
    read_pool,
    texts,
)

LONG = "Write and run services for trains. " * 30


def item(number: int, description: str = LONG, company: str | None = None, title: str = "Engineer") -> Item:
    posting = Posting(
        url=f"https://example.com/{number}",
        title=title,
        company=company or f"Company {number}",
        description=f"{number} {description}",
    )
    return Item(f"owner/name:{number:04}.json", posting)


def label_of(**values: object) -> Label:
    label: Label = {"seniority": "senior", "arrangement": "remote", "salary": None, "years": None}
    return {**label, "technologies": ["python"], "country": "DE", **values}


def test_a_draw_is_the_same_whatever_the_order_in_which_items_are_read() -> None:
    items = [item(number) for number in range(40)]
    drawn = draw(can_be_drawn(items), 5, 28, "x")
    assert drawn == draw(can_be_drawn(items[::-1]), 5, 28, "x")
    assert [one.path[11:15] for one in drawn] == ["0011", "0033", "0023", "0034", "0004"]
    assert drawn != draw(can_be_drawn(items), 5, 28, "y")
    assert drawn != draw(can_be_drawn(items), 5, 2028, "x")


def test_short_texts_and_texts_that_begin_like_another_of_the_company_are_not_drawn() -> None:
    short, first = item(1, "Too short."), item(2)
    again = replace(first, path="owner/name:9999.json")
    markup = item(3, "<p>" * 400)
    other = Item("owner/name:0000.json", first.posting.model_copy(update={"company": "Another"}))
    assert can_be_drawn([again, first, short, markup, other]) == [other, first]


def test_no_item_is_drawn_twice_in_a_sample_or_in_those_before() -> None:
    pools = {pool: can_be_drawn(item(number) for number in range(200)) for pool in POOLS}
    for position, pool in enumerate(pools):
        pools[pool] = [replace(one, path=f"{position}:{one.path}") for one in pools[pool]]
    before: set[str] = set()
    for sample in SAMPLES.values():
        labelled = {one.path for one in texts(pools, sample)}
        drawn = set(labelled)
        for profile in sample.listings:
            ranked = {one.path for one in listings(pools, profile, sample)}
            assert len(ranked) == 30
            assert not ranked & labelled
            drawn |= ranked
        assert len(labelled) == sum(sample.texts)
        assert not drawn & before
        before |= drawn


@pytest.fixture
def pool_folder(tmp_path: Path) -> tuple[Path, str]:
    """A folder with a clone of an analytics pool of one posting, and its commit."""
    home = tmp_path / "owner+name"
    folder = home / "data" / "2026_acme_analyst"
    folder.mkdir(parents=True)
    (folder / "jd_archive.md").write_text("**URL:** x\n\nRuns dbt.\n---\n## Layer B\n\nA comment\n", encoding="utf-8")
    facts = {
        "role": "Analyst",
        "company": "Acme",
        "job_location": "Not stated in JD",
        "source_url": "https://a.example/1",
    }
    (folder / "2026_acme_analyst.json").write_text(json.dumps(facts), encoding="utf-8")
    (home / "data" / "other.json").write_text("{}", encoding="utf-8")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(home), *arguments], check=True)
    commit = subprocess.run(["git", "-C", str(home), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return tmp_path, commit.stdout.strip()


@pytest.mark.process
def test_a_pool_is_read_from_its_commit_without_a_work_tree(pool_folder: tuple[Path, str]) -> None:
    folder, commit = pool_folder
    (found,) = read_pool(replace(ANALYTICS, repository="owner/name", commit=commit), folder)
    assert found.path == "owner/name:data/2026_acme_analyst/jd_archive.md"
    assert (found.posting.title, found.posting.location) == ("Analyst", None)
    assert found.posting.description == "Runs dbt."


def test_a_pool_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no clone of jeremychia/analytics"):
        read_pool(ANALYTICS, tmp_path)


def test_a_label_of_another_text_is_refused() -> None:
    one = item(1)
    label = label_of(path=one.path, sha256=one.sha256)
    assert pair([one], [label]) == [(one, label)]
    with pytest.raises(ValueError, match="not the item or not the text"):
        pair([item(1, LONG + "changed")], [label])


def test_every_kind_of_miss_is_counted_once() -> None:
    text = "We need 5+ years of experience with Python and Kafka. Salary: $50 - $60 per hour. " + LONG
    posting = Posting(
        url="https://example.com/1", title="Senior Engineer", location="Berlin, Germany", description=text
    )
    reading = read_posting(posting)
    right = label_of(
        arrangement="onsite", years=5, technologies=["Python", "kafka"],
        salary={"min": 50, "max": 60, "currency": "USD", "period": "hour"},
    )  # fmt: skip
    wrong = label_of(also={"arrangement": ["onsite"], "technologies": ["kafka"]}, technologies=["python", "go"])
    evaluation = evaluate([("right", right, reading), ("wrong", wrong, reading)])
    assert evaluation.misses[0] == ("right", [])
    assert [miss.partition(" ")[0] for miss in evaluation.misses[1][1]] == [
        "arrangement", "salary", "years", "extra:", "missed:",
    ]  # fmt: skip
    figures = {name: (share.right, share.accepted, share.all) for name, share in evaluation.shares.items() if share.all}
    assert figures == {
        "seniority": (2, 2, 2), "arrangement": (1, 2, 2), "country": (2, 2, 2), "countries": (2, 2, 2),
        "salary present": (1, 1, 1), "no salary invented": (0, 0, 1),
        "years present": (1, 1, 1), "no years invented": (0, 0, 1),
    }  # fmt: skip
    technologies, accepted = evaluation.technologies, evaluation.accepted
    assert (technologies.right, technologies.extra, technologies.missed) == (3, 1, 1)
    assert (accepted.right, accepted.extra, accepted.missed) == (3, 0, 1)


def test_pay_is_made_a_year_s() -> None:
    assert yearly({"min": None, "max": 183_000, "currency": "PHP", "period": "month"}) == (None, 2_196_000, "PHP")
    assert yearly(None) is None


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_labels_are_whole_and_name_each_item_once(sample: Sample) -> None:
    labels = load_labels(sample)
    assert len({label["path"] for label in labels}) == len({label["sha256"] for label in labels}) == sum(sample.texts)
    for label in labels:
        assert label["seniority"] in {"junior", "mid", "senior", "staff", "principal", "lead"}
        assert label["arrangement"] in {"remote", "hybrid", "onsite", "unknown"}
        assert set(label.get("also", {})) <= {"seniority", "arrangement", "salary", "years", "technologies", "country"}
        yearly(label["salary"])
