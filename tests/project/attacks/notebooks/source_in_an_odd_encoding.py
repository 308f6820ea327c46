"""THREATS 61: source in encodings that hide it: what a reader sees is a comment, what Python would run is not

Reached: declares the encoding .utf-7., in which code is not accepted
"""

BREACH = 'raise RuntimeError("LEAK BREACH by an encoding")'

FILES = {
    "src/attention.py": b"# coding: utf-7\n" + f"#+AAo-def attn_scaled(A, n_embd, n_heads):+AAo- {BREACH}\n".encode(),
    "A2S2.py": b"# coding: unicode_escape\n" + rf"#\ndef attn_scaled(A, n_embd, n_heads):\n  {BREACH}".encode(),
    "src/helper.py": b"# coding: raw_unicode_escape\n" + rf"#\u000a{BREACH}".encode(),
}
