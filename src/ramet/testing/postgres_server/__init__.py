"""A PostgreSQL server of one's own, for tests and demos."""
