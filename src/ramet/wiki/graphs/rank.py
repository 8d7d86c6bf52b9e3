"""PageRank and communities of a graph's articles, by igraph: the same for the same links, whatever store has them."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ramet.commands.extras import import_extra
from ramet.wiki.graphs.base import ArticleRank, GraphStore

EXTRA = "'ramet[wiki-rank]'"
DAMPING = 0.85
"""The probability that a reader follows a link rather than open any article."""
ROUNDS_MAX = 10
"""Rounds of the Leiden algorithm; links of wikis are settled after three to six."""
SEED = 1
DIGITS = 12
"""Decimal places of a PageRank that are kept: beyond them, machines differ."""


def rank_articles(graph: GraphStore) -> list[ArticleRank]:
    """Return the rank of every article of a graph, by canonical title; those known only from links have one, too.

    PageRank goes along the links; what an article without links passes on goes to all. Communities are those of the
    highest modularity that the Leiden algorithm finds, with a fixed seed, whichever way a link goes.

    Raises:
        ExtraMissing: the extra `[wiki-rank]` is not installed.
        GraphError: the graph cannot be read.
    """
    igraph = import_extra("igraph", EXTRA)
    keys = sorted(graph.article_keys())
    if not keys:
        return []
    numbers = {key: number for number, key in enumerate(keys)}
    # Both ends in one number: a million pairs of texts would be large, and their order is the database's.
    ends = array("q", (numbers[source] * len(keys) + numbers[target] for source, target in graph.links()))
    links = igraph.Graph(n=len(keys), edges=[divmod(pair, len(keys)) for pair in sorted(ends)], directed=True)
    shares = [round(share, DIGITS) for share in links.pagerank(damping=DAMPING)]
    groups = _by_size(_communities(igraph, links))
    return [ArticleRank(*values) for values in zip(keys, shares, groups, strict=True)]


def _communities(igraph: Any, links: Any) -> list[int]:
    igraph.set_random_number_generator(random.Random(SEED))
    try:
        found = links.as_undirected(mode="each").community_leiden("modularity", n_iterations=ROUNDS_MAX)
    finally:
        igraph.set_random_number_generator(random)
    membership: list[int] = found.membership
    return membership


def _by_size(membership: Sequence[int]) -> list[int]:
    """Return communities numbered from 1: the largest first, of equal ones that of the first article."""
    sizes = Counter(membership)  # In the order in which the articles have them, which sorting keeps.
    numbers = {one: number for number, one in enumerate(sorted(sizes, key=lambda one: -sizes[one]), start=1)}
    return [numbers[one] for one in membership]
