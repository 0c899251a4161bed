from setuptools import setup
try:
    setup(name="same", ext_modules=[x])
except Failed:
    setup(name="same")
