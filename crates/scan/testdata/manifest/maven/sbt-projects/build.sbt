organization := "o"
lazy val a = project.settings(name := "a")
lazy val b = project.settings(name := "b")
