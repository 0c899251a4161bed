// Deprecated: no
module git.example/a/b/v2 // comment

go 1.22
