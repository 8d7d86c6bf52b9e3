"""Tables and indexes, one file a group of tables, and the versions of the schema."""
