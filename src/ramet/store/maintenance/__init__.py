"""Maintenance: sweep, prune, follow-up of paths, tallies, monitor, alerts. Safe to run in every worker at once."""
