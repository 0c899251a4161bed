let package = Package(name: "A\(b)")
