"""Web pages for submissions and classes."""
