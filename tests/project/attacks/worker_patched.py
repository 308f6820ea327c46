r"""THREATS 2, 3, 14: replace the functions of the grader that run beside student code: they may say anything

Reached: attn_scaled: shape \(1,\), expected \(1, 2, 2\)
"""

import autograder.perform
import autograder.plain
import autograder.protocol
import autograder.wire
from autograder.perform import Performer, Reply

autograder.perform.plain = autograder.plain.plain = lambda value, **_: True
autograder.perform._gradients = lambda *_: {str(n): torch.ones(1) for n in range(9)}
autograder.wire.Malformed = autograder.protocol.Malformed = Exception
autograder.protocol.MAX_BODY = autograder.protocol.MAX_HEADER = 1 << 40


def perform(self, request):
    if request.do == "call":
        return Reply(torch.zeros(1), request.arguments, {"score": torch.full((1,), 100.0)})
    return honest(self, request)


honest, Performer.perform = Performer.perform, perform
