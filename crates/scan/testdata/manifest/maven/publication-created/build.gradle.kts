group = "g"
afterEvaluate {
  publishing {
    publications.create<MavenPublication>("m") {
      artifactId = "made"
    }
  }
}
