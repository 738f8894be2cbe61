"""What stands beside the core: each folder takes fitted models or tables and gives something, and can be deleted.

A folder's `addition.py` says all that it adds to the core, if it adds anything; its `__init__.py` lists in `__all__`
the names that then are `gamcore`'s, too. The core finds both by looking here (`gamcore/common/seam.py`), and additions
do not know each other.
"""
