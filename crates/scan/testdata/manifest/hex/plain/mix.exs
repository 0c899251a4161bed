defmodule A.MixProject do
  use Mix.Project
  @version "1.0.0"
  @source_url "https://git.example/a"

  def project do
    [
      app: :my_app,
      version: @version,
      name: "My App",
      source_url: @source_url,
      package: package(),
      deps: deps()
    ]
  end

  defp package do
    [licenses: ["MIT"], links: %{"a" => @source_url}]
  end

  defp deps, do: [{:dep, "~> 1.0", app: false}]
end
