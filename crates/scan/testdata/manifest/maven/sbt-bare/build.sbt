name := "tool"

version := "0.1"

// organization := "no"
