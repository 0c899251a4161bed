from setuptools import setup
about = {}
exec(open("pkg/__about__.py").read(), about)
setup(name=about["__title__"])
