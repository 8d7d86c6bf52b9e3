"""A task's rules: states, events, transitions, order, retries, deadlines."""
