"""PostgreSQL: only what differs from SQLite."""
