"""Turning texts into vectors: models on this machine or behind an endpoint, and a stand-in that says it is none."""
