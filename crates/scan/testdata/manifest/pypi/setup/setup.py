from setuptools import setup

setup(
    name="plain-pkg",
    version="1.0",
)
