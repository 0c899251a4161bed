Gem::Specification.new do |s|
  s.files = Dir['*'].reject { |f| f =~ /'|"/ }
  s.name = 'yes'
end
