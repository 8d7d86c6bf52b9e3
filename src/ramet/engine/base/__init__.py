"""The base of the engine: clock, work, claims, logs, threads. Imports no other part of the engine."""
