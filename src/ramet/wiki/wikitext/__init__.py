"""Reading wikitext: the titles of a wiki, and what a page says, links to and belongs to. Pure: no I/O."""
