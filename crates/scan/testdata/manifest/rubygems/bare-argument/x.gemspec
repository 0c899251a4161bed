name = 'bare'
require "./lib/#{name.gsub('-', '/')}/version"
Gem::Specification.new name, Bare::VERSION do |s|
  s.summary = 'x'
end
