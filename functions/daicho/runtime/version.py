"""The version of Daicho: the only place where it is written. The build of the package reads it."""

VERSION = "0.1.0"
