defmodule A do
  def project do
    [app: :ex_{{cookiecutter.slug}}, version: "0.1.0"]
  end
end
