"""Shapewise: `streamlit run app.py`, or `python app.py` for a server."""

from pages.shared import deployment
from pages.shared.frame import configure, navigation

if deployment.is_launched_bare():
    deployment.launch(__file__)
else:
    configure()
    navigation().run()
