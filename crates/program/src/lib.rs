//! A program of somebody else's, run for a workload.
//!
//! Two workloads run one: fetch asks its handler, intake has a document processed. What is the same for both is here:
//!
//! - **It gets nothing of ours.** Its environment is what it is given, and that is all; its arguments are read by no shell.
//! - **It is bounded.** Time, memory and words each have an end.
//! - **Nothing of it stays.** It leads a process group of its own, which is killed as a whole when the program has ended, when its time is
//!   over, and when nobody waits any more.
//! - **Whose fault it was is told.** A machine that has no process or handle left is not the program's failure.
//!
//! What is deliberately absent: what a failure means for a job. That is the workload's.

mod error;
mod group;
mod line;
mod program;
mod run;
mod workroom;

pub use error::{ProgramError, RunError};
pub use program::Program;
pub use run::{Call, Words};
pub use workroom::Workroom;
