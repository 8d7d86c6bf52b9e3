"""A language model where the rules leave something open; its failure is never a failure of the task."""
