"""Data that need not fit in memory: files that are written once, checked, and mapped.

folder.py has the files, texts.py what documents are, matrix.py the matrix made of them; SciPy is loaded with the last.
"""
