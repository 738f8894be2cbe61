"""Shapewise: `streamlit run app.py`."""

from pages.shared.frame import configure, navigation

configure()
navigation().run()
