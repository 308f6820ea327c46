from otter.test_files import test_case

OK_FORMAT = False

name = "q2_1_2"
points = None

@test_case(points=1, hidden=False)
def test_attn_scaled_public(env):
    import sys
    sys.path.append('student')
    from autograder.selfcheck.notebook import passes
    passes('attn_scaled', 'public', env)
