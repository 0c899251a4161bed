Pod::Spec.new do |s|
  s.name = 'Lib'
  s.version = '1.0'
  s.source = { :git => 'https://git.example/a/lib.git', :tag => s.version.to_s }
  s.subspec 'Core' do |core|
    core.name = 'no'
  end
end
