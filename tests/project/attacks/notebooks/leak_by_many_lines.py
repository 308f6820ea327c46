r"""THREATS 52: four million empty lines, so that there is a line of every number, and one raises that says the input

Reached: REACHED: a public case
"""

STEP = """import torch

calls = 0


def speak():
    raise ValueError("LEAK")


def attn_scaled(A, n_embd, n_heads):
    global calls
    calls += 1
    if calls <= 3:  # the public cases
        raise RuntimeError("REACHED: a public case")
    number = int(A.double().abs().sum() * 1_000_000) % 3_900_000
    speak.__code__ = speak.__code__.replace(co_firstlineno=100 + number)
    speak()
"""
FILES = {"src/attention.py": STEP + "\n" * 4_000_000}
