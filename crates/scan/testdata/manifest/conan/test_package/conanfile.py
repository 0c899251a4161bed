from conan import ConanFile
class Test(ConanFile):
    name = "t"
