packageName = "real"
version = "0.1.0"
