"""Benchmarks of the jobs pipeline: four boards beside a plain script, and a board of ten thousand openings."""
