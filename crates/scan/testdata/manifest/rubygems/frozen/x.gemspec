Gem::Specification.new do |s|
  s.name = "cold".freeze
  s.version = "1".freeze
  s.metadata = { "source_code_uri" => "https://git.example/c" } if s.respond_to? :metadata=
end
