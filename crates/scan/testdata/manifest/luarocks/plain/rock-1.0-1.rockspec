-- package = "no"
package = "rock"
version = "1.0-1"
source = {
  url = "git+https://git.example/r.git",
  tag = "v1.0"
}
