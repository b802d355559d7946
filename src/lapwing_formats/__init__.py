"""Readers of formats that few corpora have; lapwing finds them by their entry points."""
