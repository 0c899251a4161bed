import django
django.setup()
def setup(name="no"):
    pass
