"""THREATS 18, 41, 42: exceptions full of terminal codes, HTML, bidirectional marks, lone surrogates and NULs

Reached: split_heads: returned dict
"""

NASTY = "LEAK\x1b[2J\x1b]0;LEAK\x07<script>LEAK</script>\u202e\u2066\ud800\udfff\0\r\n=cmd|LEAK'!A1\u2028"


def attn_scaled(A, n_embd, n_heads):
    raise type("LEAK<b>\u202e\x1b[31m", (ValueError,), {})(NASTY * 10)


def merge_heads(y):
    raise NotImplementedError(NASTY)


def split_heads(x, n_heads):
    return {NASTY: NASTY}
