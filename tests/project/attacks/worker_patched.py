r"""THREATS 2, 3, 14: replace the functions of the grader that run beside student code: they may say anything

Reached: attn_scaled: shape \(1,\), expected \(1, 2, 2\)
"""

import autograder.running.perform
import autograder.running.plain
import autograder.workers.protocol
import autograder.workers.wire
from autograder.running.perform import Performer, Reply

autograder.running.perform.plain = autograder.running.plain.plain = lambda value, **_: True
autograder.running.perform._gradients = lambda *_: {str(n): torch.ones(1) for n in range(9)}
autograder.workers.wire.Malformed = autograder.workers.protocol.Malformed = Exception
autograder.workers.protocol.MAX_BODY = autograder.workers.protocol.MAX_HEADER = 1 << 40


def perform(self, request):
    if request.do == "call":
        return Reply(torch.zeros(1), request.arguments, {"score": torch.full((1,), 100.0)})
    return honest(self, request)


honest, Performer.perform = Performer.perform, perform
