=begin
s.name = 'no'
=end
Gem::Specification.new do |s|
  s.name = 'yes'
end
