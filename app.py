"""Shapewise: `streamlit run app.py`, or `python app.py` for a server."""

import sys

from shapewise.ui.session import deployment

if __name__ == "__main__":  # else a process that another one of this app spawned, such as a worker of Dask
    if deployment.is_launched_bare():
        deployment.launch(__file__, sys.argv[1:])
    else:
        from shapewise.ui.frame.starting import configure, navigation, reading_once

        with reading_once():
            configure()
            navigation().run()
