"""Processes of one machine on one database: registry, runtime folder, notes of what runs."""
