from setuptools import setup
def helper():
    title = "other"
    return title
setup(name=title)
