from setuptools import setup
kw = {"name": "a"}
if nightly:
    kw.update(name="b")
setup(**kw)
