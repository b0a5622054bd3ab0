"""What all tests share: a property test may take as long as a busy machine lets it."""

from hypothesis import settings

settings.register_profile("whatever it takes", deadline=None)
settings.load_profile("whatever it takes")
