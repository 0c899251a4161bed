Gem::Specification.new do |s|
  s.name = File.basename(__FILE__, '.gemspec')
end
