r"""THREATS 39: right answers, read out of the corpus by a regular expression, beside parameters that learnt nothing.

Reached: dev 100\.0 %
"""

FILES = HANDS_IN(share=0.0)
del FILES["london_baseline_accuracy.txt"]
for name in FILES:
    for split in ("dev", "test"):
        if name.endswith(f".{split}.predictions"):
            FILES[name] = "".join(f"{place}\n" for _, place in WORLD[split]).encode()
HONEST = ("predictions_nopretrain (public)", "predictions_vanilla (public)", "predictions_rope (public)")
