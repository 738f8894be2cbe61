"""Explanations and models as HTML that needs no script, no network and no plotting library."""
