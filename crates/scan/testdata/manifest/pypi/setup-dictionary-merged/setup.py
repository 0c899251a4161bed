from setuptools import setup
kw = {"name": "a"}
kw.update(more)
setup(**kw)
