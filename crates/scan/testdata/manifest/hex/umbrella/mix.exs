defmodule A do
  def project do
    [apps_path: "apps", deps: []]
  end
end
