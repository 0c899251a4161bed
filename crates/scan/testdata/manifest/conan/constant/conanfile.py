from conans import ConanFile
NAME = "lib"
class Recipe(ConanFile):
    name = NAME
