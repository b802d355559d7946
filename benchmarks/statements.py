"""How often statements with a number hold on unbalanced classes, several labels and rare categories.

    python benchmarks/statements.py [--draws 2000]

The population is that of tests/evaluate/test_promises.py, which counts the same in fewer draws: 24 categories, from
20 % of documents to 0.2 %, as sets of labels and as exclusive classes.

compare     95 % intervals of differences that hold the difference in all documents; of F1 by how many a category has
mcnemar     p-values of at most 5 % for two models as good as each other
bands       95 % bands of reliability that hold the mean probability, where probabilities are right; of the calibration
            error by chance, how often it is above the stated mean, and beyond what it "rarely" exceeds (5 %)
promises    mean coverage of sets promised at 80, 90 and 95 %; promises of precision that were broken (10 % may be)
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "evaluate"))

import test_promises as counted

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    for exclusive in (False, True):
        print(f"\n{'exclusive classes' if exclusive else 'sets of labels'}")
        found = counted.compared(exclusive, draws)
        for name in sorted(name.removesuffix(" all") for name in found if name.endswith(" all")):
            print(f"  compare, {name}: {found[f'{name} held'] / found[f'{name} all']:.1%} of {found[f'{name} all']}")
        print(f"  mcnemar: {counted.equally_good(exclusive, draws) / draws:.1%} of {draws}")
        found = counted.calibrated(exclusive, draws)
        print(f"  bands: {found['bands held'] / found['bands']:.1%} of {found['bands']}")
        above, beyond = (found[f"errors {name}"] / draws for name in ("above the mean", "beyond"))
        print(f"  calibration error: above its mean {above:.1%}, beyond {beyond:.1%}")
        covered, found = counted.promised(exclusive, max(draws // 10, 1))
        shares = ", ".join(f"{rate:.0%} → {share:.1%}" for rate, share in covered.items())
        print(f"  promises: {shares}; of {found['made']} precisions {found['broken']} were broken", flush=True)
