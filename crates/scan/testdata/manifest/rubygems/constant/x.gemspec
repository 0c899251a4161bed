NAME = 'const'
Gem::Specification.new do |gem|
  gem.name = NAME
end
