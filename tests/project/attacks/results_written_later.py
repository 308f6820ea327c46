"""THREATS 1, 28: a thread that goes on after the answer and waits for results.json to appear

Reached: REACHED: [2-9] threads
"""

import glob
import threading
import time


def wait():
    while True:
        for path in glob.glob("/tmp/**/results.json", recursive=True) + ["/tmp/attack-was-here", "../attack-was-here"]:
            try:
                open(path, "w").write('{"score": 100}')
            except OSError:
                pass
        time.sleep(0.05)


threading.Thread(target=wait).start()


def attn_scaled(A, n_embd, n_heads):
    raise RuntimeError(f"REACHED: {threading.active_count()} threads")
