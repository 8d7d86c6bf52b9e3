"""Copies of a database in use, and databases from copies. Lies above both dialects."""
