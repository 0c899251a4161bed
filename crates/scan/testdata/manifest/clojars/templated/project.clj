(defproject {{name}} "0.1.0")
