(ns x)
