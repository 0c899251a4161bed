Pod::Spec.new do |spec|
  spec.name = "Lib"
  spec.source = { git: "https://git.example/lib.git" }
end
