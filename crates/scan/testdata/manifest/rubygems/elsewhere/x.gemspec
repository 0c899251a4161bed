Gem::Specification.new do |s|
  s.name = Other::NAME
end
