from otter.test_files import test_case

OK_FORMAT = False

name = "q2_2_1"
points = None

@test_case(points=1, hidden=False)
def test_make_causal_mask_public(env):
    import sys
    sys.path.append('student')
    from autograder.selfcheck.notebook import passes
    passes('make_causal_mask', 'public', env)
