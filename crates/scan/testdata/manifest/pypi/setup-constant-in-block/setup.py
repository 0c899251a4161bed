from setuptools import setup
def main():
    name = "local"
    setup(name=name)
main()
