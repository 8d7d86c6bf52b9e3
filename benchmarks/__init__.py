"""ramet beside other queues, on one machine, in one run. The method is in README.md; ``python -m benchmarks.compare`` runs it.

What runs inside a peer's own environment is in :mod:`benchmarks.peers` and imports nothing of ramet's.
"""
