defmodule A do
  @app :a
  @app :b
  def project do
    [app: @app]
  end
end
