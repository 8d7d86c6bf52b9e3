"""Questions about what is stored. Nothing here writes."""
