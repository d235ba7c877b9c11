//! The command as its users start it: real processes, real ports, real signals.

mod explain;
mod process;
mod serve;
