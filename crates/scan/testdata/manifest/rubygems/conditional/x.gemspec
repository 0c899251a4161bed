Gem::Specification.new do |s|
  s.name = 'a'
  s.name = 'a-java' if RUBY_PLATFORM == 'java'
end
