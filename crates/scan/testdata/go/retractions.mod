// A licence header that belongs to nobody.

// The module as it was.
//
// Deprecated: use example.com/tools/v3 instead,
// it is the same code.
//
// More text.
module example.com/tools/v2 // not part of it

go 1.21.3

toolchain go1.22.0

require (
	example.com/a v1.0.0
	example.com/b v1.2.0 // indirect
)

// published by accident
retract (
	v2.0.0
	v2.0.1 // contains retractions only

	// tags were moved
	[v2.1.0, v2.1.9]
)

retract [v2.3.0, v2.4.0-rc.1]
