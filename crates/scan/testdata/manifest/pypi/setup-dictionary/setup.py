from setuptools import setup
kw = {
    "name": "in-dict",  # comment
    "version": "3",
    "extras": {"name": "no"},
}
kw.update({"packages": []})
setup(**kw)
