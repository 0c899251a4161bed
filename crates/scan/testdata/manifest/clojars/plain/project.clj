; (defproject no "1")
(defproject org.example/clj-lib "0.1.0-SNAPSHOT"
  :description "x"
  :dependencies [[no "1"]])
