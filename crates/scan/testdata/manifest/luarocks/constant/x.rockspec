local name = "konst"
package = name
version = "scm-1"
