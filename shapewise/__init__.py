"""The Shapewise application: a workspace of tables and models, the jobs that work on them, and the pages."""

from importlib.util import find_spec

if missing := [name for name in ("sqlalchemy", "psutil", "streamlit") if find_spec(name) is None]:
    raise ImportError(f'The application needs {", ".join(missing)}: run pip install "gamcore[app]".')
