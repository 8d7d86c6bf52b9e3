"""ramet beside other queues, on one machine, in one run: ``python -m benchmarks.compare``. README.md tells the method.

What runs inside a peer's own environment is in :mod:`benchmarks.peers` and imports nothing of ramet's.
"""
