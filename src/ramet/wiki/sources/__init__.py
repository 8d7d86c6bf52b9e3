"""Sources of articles: a MediaWiki's API, an XML dump, a file of JSON Lines, the set that a package ships."""
