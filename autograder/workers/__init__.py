"""Untrusted workers: the zygote that forks them, and the channel to them."""
