"""SQLite: only what differs from PostgreSQL."""
