"""The student's own check: `check.py`, and `grader.check` in a notebook."""
