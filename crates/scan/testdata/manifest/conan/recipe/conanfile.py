from conan import ConanFile

class Recipe(ConanFile):
    name = "lib"
    version = "1.0"
    url = "https://git.example/a/lib"

    def package_info(self):
        name = "no"
        self.name = "no"
