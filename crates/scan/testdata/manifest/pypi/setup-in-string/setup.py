"""
setup(name="no")
"""
# setup(name="no")
from setuptools import setup
setup(name="yes")
