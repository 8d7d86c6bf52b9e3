"""Detection of the board behind an address or a page, with its confidence."""
