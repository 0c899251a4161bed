class A:
    name = "no"
