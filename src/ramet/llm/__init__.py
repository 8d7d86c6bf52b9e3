"""Huge batches of prompts through a provider: bounded in time, calls and money, with nothing asked or paid for twice.

A job is a lineage, a prompt is a task of it, and a provider's batch is a task that binds and settles many of them.
"""
