"""Autograded assignments on attention and transformers.

Values out, verdicts in: student code returns plain values; this package compares them.
"""

__version__ = "0.1.0"
