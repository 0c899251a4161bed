defmodule A do
  def project do
    [app: :a, version: "1", package: package()]
  end
  defp package() do
    [name: "a_other"]
  end
end
