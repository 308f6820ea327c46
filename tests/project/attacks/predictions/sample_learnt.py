"""THREATS 50: forty lines of each file are what the parameters predict, and all others are forged.

Once, forty lines were sampled, always the same ones: one submission could find them out for the next. Now all are made.
Reached: predictions differ from what your parameters\\s+give
"""

FILES = HANDS_IN(share=0.0)
del FILES["london_baseline_accuracy.txt"]
for name in FILES:
    for split in ("dev", "test"):
        if name.endswith(f".{split}.predictions"):
            honest, right = FILES[name].decode().splitlines(), [place for _, place in WORLD[split]]
            FILES[name] = lines_file([*honest[:40], *right[40:]])
HONEST = ("predictions_nopretrain (public)", "predictions_vanilla (public)", "predictions_rope (public)")
