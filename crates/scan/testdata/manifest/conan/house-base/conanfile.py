from base import BaseConan
class R(BaseConan):
    name = "lib"
