"""Store of the knowledge: the graph of articles, sections, categories and links, in LadybugDB or SQLite."""
