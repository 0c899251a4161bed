IO.puts("app: :no")
