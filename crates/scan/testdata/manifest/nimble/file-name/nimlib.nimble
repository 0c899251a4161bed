# Package
version       = "0.1.0"
author        = "name"
