"""Does the model still hold? A model on the newer version of its table, on Data and as a slide."""
