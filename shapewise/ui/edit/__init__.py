"""The editor: curves and pairs changed by hand, at a known price."""
