"""n-grams of any length: the space of all of a corpus, with gaps or without, and the search for those that a fit needs.

The kernels are kernels/ngrams.py, gapped.py and suffixes.py; training/ngram_search.py is the strategy, beside those of
other models; text/matching.py finds a model's n-grams in other texts.
"""
