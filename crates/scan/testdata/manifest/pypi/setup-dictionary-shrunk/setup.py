from setuptools import setup
kw = {"name": "a", "ext": 1}
try:
    setup(**kw)
except Failed:
    del kw["ext"]
    setup(**kw)
