"""Settings: declared, stored, in force."""
