from otter.test_files import test_case

OK_FORMAT = False

name = "q2_4_1"
points = None

@test_case(points=2, hidden=False)
def test_self_attention_public(env):
    import sys
    sys.path.append('student')
    from autograder.selfcheck.notebook import passes
    passes('self_attention', 'public', env)
