Gem::Specification.new do |s|
  s.name = "a-#{kind}"
end
