Gem::Specification.new('arg', '1.0') do |s|
  s.summary = 'x'
end
