from conan import ConanFile
class R(ConanFile):
    def set_name(self):
        self.name = "x"
