"""Shapewise: `streamlit run app.py`, or `python app.py` for a server."""

from shapewise.ui.session import deployment
from shapewise.ui.session.frame import configure, navigation

if deployment.is_launched_bare():
    deployment.launch(__file__)
else:
    configure()
    navigation().run()
