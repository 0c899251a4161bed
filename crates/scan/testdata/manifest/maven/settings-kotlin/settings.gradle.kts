pluginManagement { repositories { gradlePluginPortal() } }
rootProject.name = "root-k"
include("a")
