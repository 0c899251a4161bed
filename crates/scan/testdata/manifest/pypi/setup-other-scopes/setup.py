from setuptools import setup
name = "outer"
def find(name):
    for version in name:
        title = name
class A(object):
    name = "no"
setup(name=name)
