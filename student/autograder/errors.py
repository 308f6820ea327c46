"""The one exception that people are meant to read."""

from __future__ import annotations


class UserError(Exception):
    """Something the person at the keyboard can mend: one line that says what to do."""
