[Package]
name = "sect"
version = "0.1.0"
