Gem::Specification.new do |s|
  s.description = <<~TEXT
    s.name = 'no'
  TEXT
  s.name = 'yes'
end
__END__
s.name = 'no'
