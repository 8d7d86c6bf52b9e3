"""Who is who: names, aliases, articles and their redirects, in whatever order sections come."""

from __future__ import annotations

import random

from ramet.wiki.graphs.entities import NamedEntity, Relation, SectionFinding, merge, name_key, names_of_articles

ARTICLES = names_of_articles(
    [("Alan Turing", "Alan Turing"), ("Mercury", "Mercury"), ("Hermes", "Hermes")],
    [("Alan Mathison Turing", "Alan Turing"), ("A. M. Turing", "Alan Turing")],
)


def finding(
    number: int, *entities: tuple[str, ...], relations: tuple[tuple[str, str, str], ...] = ()
) -> SectionFinding:
    named = tuple(NamedEntity(name, "person", tuple(aliases)) for name, *aliases in entities)
    return SectionFinding("Page", number, named, relations)


def keys(*findings: SectionFinding) -> dict[str, str]:
    """Keys of entities by the names of their mentions."""
    return {one.name: one.entity_key for one in merge(findings, ARTICLES)[0]}


def test_case_spaces_and_accents_of_either_kind_do_not_count() -> None:
    assert name_key("  José   STRASSE ") == name_key("Jose\u0301 straße")


def test_a_redirect_and_an_alias_lead_to_the_article() -> None:
    found = keys(finding(0, ("a. m. turing",), ("The Prof", "Alan Turing")), finding(1, ("the prof",)))
    assert set(found.values()) == {"alan turing"}


def test_a_name_that_is_another_ones_alias_is_that_one_whichever_section_comes_first() -> None:
    sections = [
        finding(0, ("Joan Clarke", "Joan Murray")),
        finding(1, ("Joan Murray", "J. Murray")),
        finding(2, ("J. Murray",)),
    ]
    expected = merge(sections, ARTICLES)
    assert len({one.entity_key for one in expected[0]}) == 1
    for seed in range(6):
        random.Random(seed).shuffle(sections)
        assert merge(sections, ARTICLES) == expected


def test_a_shared_alias_and_an_alias_that_is_two_articles_join_nothing() -> None:
    found = keys(finding(0, ("Edward I", "the king"), ("Henry III", "the king")))
    assert found["Edward I"] != found["Henry III"]
    found = keys(finding(0, ("Mercury", "Hermes")), finding(1, ("Hermes", "Mercury")))
    assert found == {"Mercury": "mercury", "Hermes": "hermes"}


def test_relations_are_of_listed_names_and_of_two_entities() -> None:
    relations = (
        ("Joan", "wrote to", "alan turing"), ("Joan Clarke", "knew", "Nobody"), ("Joan", "is", "Joan Clarke"),
    )  # fmt: skip
    found = merge([finding(4, ("Joan Clarke", "Joan"), ("Alan Turing",), relations=relations)], ARTICLES)[1]
    assert found == [Relation("joan clarke", "alan turing", "wrote to", "Page", 4)]
