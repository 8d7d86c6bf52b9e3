"""Rows, one file a group of tables: read and written for the verbs, no decisions."""
