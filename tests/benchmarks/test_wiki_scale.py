"""A generated wiki is what it says it is, and a run's cost is given to the articles that caused it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.wiki_scale import Sample, levels, parts, report
from benchmarks.worlds import World, records, title_of, write


@pytest.mark.parametrize(("articles", "links"), [(300, 3_000), (301, 2_717)])
def test_a_generated_wiki_has_exactly_so_many_links_and_is_reached_from_its_first_article(
    articles: int, links: int
) -> None:
    linked = {record["title"]: record["links"] for record in records(World(articles, links, "plain"))}
    assert len(linked) == articles
    assert sum(map(len, linked.values())) == links
    assert all(len(set(titles)) == len(titles) and title not in titles for title, titles in linked.items())
    to_do, seen = [title_of(0)], {title_of(0)}
    while to_do:
        fresh = set(linked[to_do.pop()]) - seen
        seen |= fresh
        to_do += fresh
    assert seen == linked.keys()


def test_in_a_long_wiki_no_link_leads_past_the_next_level() -> None:
    linked = {record["title"]: record["links"] for record in records(World(1_000, 8_000, "plain", width=60))}
    assert sum(map(len, linked.values())) == 8_000
    level, sizes, seen = {title_of(0)}, [], {title_of(0)}
    while level:
        sizes.append(len(level))
        level = {title for one in level for title in linked[one]} - seen
        seen |= level
    assert seen == linked.keys()
    assert len(sizes) > 15
    assert all(45 < size < 75 for size in sizes[6:-2])


def test_the_same_wiki_is_the_same_bytes_and_its_wikitext_has_its_links(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(World(100, 1_000), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    plain = records(World(100, 1_000, "plain"))
    for rich, bare in zip(records(World(100, 1_000)), plain, strict=True):
        assert all(f"[[{title}]]" in rich["wikitext"] or f"[[{title}|" in rich["wikitext"] for title in bare["links"])


@pytest.mark.parametrize("links", [300, 40_000])
def test_links_that_cannot_be_are_refused(links: int) -> None:
    with pytest.raises(ValueError, match="give from 5 to a quarter each"):
        next(records(World(100, links)))


def test_what_was_used_is_divided_where_articles_were_loaded() -> None:
    samples = [Sample(float(at), 2.0 * at, 100 + at, 3) for at in range(11)]
    loaded = [(at / 10, 0 if at < 20 else 1) for at in range(100)]
    halves = parts([at for at, _ in loaded], samples, number=2)
    assert [part.articles for part in halves] == [50, 50]
    assert [part.cpu_seconds for part in halves] == pytest.approx([9.8, 10.2])
    first, second = levels(loaded, samples)
    assert (first.articles, second.articles) == (20, 80)
    assert (first.seconds, second.seconds) == pytest.approx((2.0, 8.0))
    assert (first.rss_bytes, second.rss_bytes) == (102, 110)
    found = report(loaded, samples, {"worker": 2_000_000})
    assert found["cpu_seconds"] == 20.0
    assert found["last_to_first_large_level_cpu"] == 1.0
    assert found["peak_rss_mb_of_each"] == {"worker": 2.0}
