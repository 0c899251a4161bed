ThisBuild / organization := "org.example"
ThisBuild / version := "1.0"

lazy val root = (project in file("."))
  .settings(
    name := "lib",
    libraryDependencies += "a" %% "name" % "1"
  )
