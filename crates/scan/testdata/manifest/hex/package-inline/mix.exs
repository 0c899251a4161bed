defmodule A do
  def project, do: [app: :a, package: [name: :b]]
end
