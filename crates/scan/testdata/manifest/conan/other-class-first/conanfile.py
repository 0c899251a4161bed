class Meta(object):
    name = "no"
class R(conan.ConanFile):
    name = "yes"
