"""The verbs as methods of a store."""
