from setuptools import setup
setup(name="inner", classifiers=["Private :: Do Not Upload"])
