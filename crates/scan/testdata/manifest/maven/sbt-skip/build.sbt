organization := "o"
name := "n"
publish / skip := true
