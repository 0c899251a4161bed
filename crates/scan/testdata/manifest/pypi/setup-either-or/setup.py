from setuptools import setup
setup(name="a" if x else "b")
