"""Models for use without lapwing, as `lapwing.export` and `lapwing export` write them."""
