try:
    from release import NAME
except ImportError:
    NAME = "fallback"
from setuptools import setup
setup(name=NAME)
