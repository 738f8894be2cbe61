"""Edit curves and pairs by hand: on Shapes, Pairs and Models, in cards, and again after training."""
