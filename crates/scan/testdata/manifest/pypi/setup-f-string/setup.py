from setuptools import setup
setup(name=f"pkg-{variant}")
