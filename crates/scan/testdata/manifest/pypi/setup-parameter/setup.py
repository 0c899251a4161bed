from setuptools import setup
name = "outer"
def build(name):
    setup(name=name)
build("inner")
