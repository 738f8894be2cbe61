"""Shapewise: `streamlit run app.py`, or `python app.py` for a server."""

import sys

from shapewise.ui.session import deployment

if deployment.is_launched_bare():
    deployment.launch(__file__, sys.argv[1:])
else:
    from shapewise.ui.session.starting import configure, navigation

    configure()
    navigation().run()
