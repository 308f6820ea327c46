"""THREATS 45: an accuracy of a million digits, and predictions of accents that would be put in order.

Reached: must hold one number, the accuracy in percent
"""

FILES = HANDS_IN(share=0.0) | {"london_baseline_accuracy.txt": b"1" * (1 << 20)}
marks = ("a" + "\u0316\u0301" * (1 << 17)).encode()
for name in FILES:
    if name.endswith(".predictions"):
        FILES[name] = marks + b"\n" + b"\n".join(FILES[name].splitlines()[1:])
HONEST = (
    "predictions_nopretrain (public)",
    "predictions_vanilla (public)",
    "predictions_rope (public)",
    "predictions_nopretrain (hidden)",  # one line in sixty may differ
)
