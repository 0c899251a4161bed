let package = Package(name: "App", targets: [.target(name: "no")])
