"""The experiments of the papers, run again: settings, runs, and the printed figures beside ours.

One folder per paper. Pictures need matplotlib: `pip install "lapwing[experiments]"`.
"""
