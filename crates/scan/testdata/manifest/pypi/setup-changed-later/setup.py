from setuptools import setup
NAME = "a"
NAME += suffix
setup(name=NAME)
