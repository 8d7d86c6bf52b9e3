"""Benchmarks of the llm pipeline: batches, and chat beside a plain loop and another runner."""
