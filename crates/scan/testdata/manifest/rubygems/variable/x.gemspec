spec = Gem::Specification.new
spec.name = 'assigned'
spec
