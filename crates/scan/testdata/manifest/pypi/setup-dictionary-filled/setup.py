from setuptools import setup
kw = dict(version="1")
kw["name"] = "filled"
setup(**kw)
