"""One submission in a Gradescope container."""
