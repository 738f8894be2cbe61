"""What stands beside the core of the application: each folder adds panels to pages and items to reports.

A folder's `addition.py` says all that it adds, as constants of classes of the core (`shapewise/ui/panel.py`,
`shapewise/reports/added.py`), and imports what draws when it is to draw. Each folder can be deleted.
The core finds it by looking here (`shapewise/seam.py`), and additions do not know each other. One that shows an
addition of the library has its name.
"""
