import setuptools
NAME = "const" "ant"
VERSION = "2"
if __name__ == "__main__":
    setuptools.setup(name=NAME, version=VERSION)
