"""A lineage's rules: limits, guard, deny list, outcome."""
