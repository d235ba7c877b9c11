"""The parts of `bench/run`. Nothing but the standard library."""
