"""The Hypothesis profile of the house: repeatable, and without a deadline, since two cores are shared."""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True, max_examples=150)
settings.load_profile("house")
