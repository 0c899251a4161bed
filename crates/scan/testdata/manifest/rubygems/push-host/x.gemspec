Gem::Specification.new do |s|
  s.name = 'inner'
  s.metadata['allowed_push_host'] = 'https://gems.inner.example'
end
