"""Which board stands behind an address or a page, and how sure that is."""
