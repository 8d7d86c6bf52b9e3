"""Reading boards: instructions that are data, and one reader for all of them."""
