"""Common parts of the commands of pipelines and extras: how output looks, options, one-line errors, extras.

They come in through the entry-point group ``ramet.commands``. This package knows no command, no pipeline and no page.
"""
