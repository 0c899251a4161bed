from setuptools import setup
NAME = "a"
if nightly:
    NAME = "a-nightly"
setup(name=NAME)
