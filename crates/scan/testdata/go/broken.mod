module "example.com/broken"

go 1.20

require (
	example.com/a v1.0.0
