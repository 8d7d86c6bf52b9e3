"""What several pipelines need in one and the same way, such as a guarded web client.

It knows no pipeline and none of their words; an import-linter contract holds that.
"""
