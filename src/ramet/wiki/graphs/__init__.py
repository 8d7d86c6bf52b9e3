"""Where the knowledge is kept: the graph of articles, sections, categories and links, in LadybugDB or SQLite."""
