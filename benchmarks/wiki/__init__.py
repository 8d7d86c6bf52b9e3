"""Benchmarks of the wiki pipeline; the older ones are beside this folder."""
