(defproject lib-name "1.0")
