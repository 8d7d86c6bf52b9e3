"""What every part of the engine uses: clock, work, claims, logs, threads. Imports no other part of the engine."""
