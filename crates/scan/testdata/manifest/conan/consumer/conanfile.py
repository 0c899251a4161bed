from conan import ConanFile
class Consumer(ConanFile):
    requires = "zlib/1.3"
