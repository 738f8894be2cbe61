"""The Shapewise application: a workspace of tables and models, the jobs that work on them, and the pages."""

from importlib.util import find_spec


def lacks() -> str:
    """Return what the application lacks, as a sentence with the command that installs it; empty if it is complete."""
    missing = [name for name in ("sqlalchemy", "psutil", "streamlit") if find_spec(name) is None]
    return f'The application needs {", ".join(missing)}: run pip install "shapewise[app]".' if missing else ""
