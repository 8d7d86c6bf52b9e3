"""How well a listing fits: a score in which every point is listed, duplicates, quality."""
