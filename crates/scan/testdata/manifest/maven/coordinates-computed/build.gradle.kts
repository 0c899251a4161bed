mavenPublishing {
  coordinates(project.group.toString(), "lib", version)
}
