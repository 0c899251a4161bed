from setuptools import setup
name = "a"
def change():
    global name
    name = "b"
setup(name=name)
