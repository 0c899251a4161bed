from setuptools import setup
setup(name="pkg-%s" % variant, version="1")
