defmodule <%= @camel %>.MixProject do
  def project do
    [app: :<%= @name %>, version: "0.1.0"]
  end
end
