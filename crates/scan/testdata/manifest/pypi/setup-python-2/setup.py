#!/usr/bin/env python
# -*- coding: latin-1 -*-
from distutils.core import setup
import sys
print "building", `sys.argv`
try:
    pass
except ImportError, e:
    raise SystemExit, 0777
setup(name = u'old-timer', author = 'André', version = '0.1')
