from setuptools import setup
kw = {"name": "a"}
kw.update(name="b")
setup(**kw)
