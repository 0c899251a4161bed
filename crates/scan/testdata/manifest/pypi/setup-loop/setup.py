from setuptools import setup
name = "a"
for name in names:
    setup(name=name)
