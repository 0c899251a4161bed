Gem::Specification.new { |s|
  s.name = %q{quoted}
  s.version = %q(1.0)
}
