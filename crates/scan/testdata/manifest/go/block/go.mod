module (
	git.example/block
)
require (
	git.example/no v1.0.0
)
