defmodule A do
  @moduledoc ~S"""
  app: :no
  """
  # app: :no
  def project do
    [files: ~w(lib app: :no), app: :yes]
  end
end
