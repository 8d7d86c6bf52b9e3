"""Tools of an operator: doctor and import."""
