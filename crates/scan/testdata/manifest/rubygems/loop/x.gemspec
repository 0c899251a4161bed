%w[a b].each do |name|
  Gem::Specification.new do |s|
    s.name = name
  end
end
