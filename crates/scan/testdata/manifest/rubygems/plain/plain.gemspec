# frozen_string_literal: true
require_relative 'lib/plain/version'
Gem::Specification.new do |spec|
  spec.name          = 'plain'
  spec.version       = Plain::VERSION
  spec.metadata['source_code_uri'] = 'https://git.example/a/plain'
  spec.files = `git ls-files`.split($/)
  spec.add_dependency 'name', '~> 1'
end
