"""Rows, one file a group of tables: read and written as told by the verbs, no decisions."""
