"""What stands beside the core, each addition in a folder of its own that can be deleted.

An addition takes fitted models or tables and gives something; the core does not know that it exists.
"""
