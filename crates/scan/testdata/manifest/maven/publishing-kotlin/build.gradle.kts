plugins { `maven-publish` }
publishing {
  publications {
    create<MavenPublication>("maven") {
      groupId = "org.example"
      artifactId = "lib"
      version = "1.0"
      from(components["java"])
    }
  }
}
