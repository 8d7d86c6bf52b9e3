"""Wiki expansion: from a few seed titles to a graph of linked articles with embeddings.

Article states shown to people are discovered → claimed → loaded → processed | failed; they are projections of
the engine's task state and stage, never a second machine (DESIGN §2). The package has article sources, link
discovery, embeddings, the graph, the pipeline's domain tables, its task kinds and its commands. Claims, leases,
retries and limits are the engine's alone. Importing this package imports nothing of the extra
`[wiki]`.

`open_graph` asks a graph from Python; it and what it takes and gives are published, the modules below are the
package's own.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ramet.wiki.graph_access import (
        Direction,
        Entity,
        GraphReader,
        GraphSection,
        Neighbor,
        Ranking,
        SearchHit,
        WikiAnswer,
        open_graph,
    )

__all__ = [
    "Direction",
    "Entity",
    "GraphReader",
    "GraphSection",
    "Neighbor",
    "Ranking",
    "SearchHit",
    "WikiAnswer",
    "open_graph",
]


def __getattr__(name: str) -> object:
    """Load what is published when it is asked for: commands that need none of it start without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ramet.wiki import graph_access

    return getattr(graph_access, name)
