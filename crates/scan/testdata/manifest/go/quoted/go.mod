module "git.example/q"
