#if os(Linux)
let package = Package(name: "A")
#else
let package = Package(name: "B")
#endif
