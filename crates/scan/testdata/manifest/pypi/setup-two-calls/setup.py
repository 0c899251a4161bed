from setuptools import setup
if a:
    setup(name="a")
else:
    setup(name="b")
