let title: String = "Const"
let package = Package(name: title, products: [])
