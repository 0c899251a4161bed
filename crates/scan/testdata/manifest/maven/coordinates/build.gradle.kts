plugins { id("com.vanniktech.maven.publish") version "0.30" }
mavenPublishing {
  coordinates("org.example", "lib", "2.0")
}
