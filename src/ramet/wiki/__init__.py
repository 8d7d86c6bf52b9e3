"""Wiki expansion: from a few seed titles to a graph of linked articles with embeddings.

Article states shown to people are discovered → claimed → loaded → processed | failed; they are projections of
the engine's task state and stage, never a second machine (DESIGN §2). What lives here: article sources, link
discovery, embeddings, the graph, the pipeline's domain tables, its task kinds and its commands. What may not:
claims, leases, retries, limits; those are the engine's. Importing this package imports nothing of the extra
`[wiki]`.
"""
