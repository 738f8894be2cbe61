"""What stands beside the core of the application: each folder adds panels to its pages, and can be deleted.

A folder's `addition.py` says all that it adds, as constants of classes of the core (`shapewise/ui/widgets/panels.py`).
The core finds it by looking here (`shapewise/seam.py`), and additions do not know each other. One that shows an
addition of the library has its name.
"""
