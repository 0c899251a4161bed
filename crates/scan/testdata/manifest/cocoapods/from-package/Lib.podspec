require 'json'
package = JSON.parse(File.read('package.json'))
Pod::Spec.new do |s|
  s.name = package['name']
end
