defmodule A do
  @app :attr
  def project do
    [app: @app]
  end
end
