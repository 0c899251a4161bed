// swift-tools-version:5.9
import PackageDescription
let package = Package(
  name: "Lib", /* name: "no" */
  products: [.library(name: "Other", targets: ["Other"])],
  dependencies: [.package(name: "no", url: "https://git.example/x", from: "1.0.0")]
)
