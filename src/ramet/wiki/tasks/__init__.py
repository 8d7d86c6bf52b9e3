"""The tasks of the wiki pipeline: a level, an article, a refresh."""
