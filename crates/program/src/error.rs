//! Why a program is none, and how a run of it went wrong.

use std::io;

use rustix::io::Errno;

/// Why there is no such program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// Not a command line.
    #[error("there is a quote without its end, or nothing to run")]
    Line,
    /// Nothing that could be run has this name.
    #[error("there is no program {0} that could be run")]
    Missing(String),
}

/// Why a run came to nothing. The texts hold what the program said last, on one line and without control characters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It ended with an exit code other than 0.
    #[error("{text}")]
    Exit {
        /// The code.
        code: i32,
        /// What is told of it.
        text: String,
    },
    /// It cannot be run, was killed, or said too much.
    #[error("{0}")]
    Failed(String),
    /// Its time was over.
    #[error("{0}")]
    TimedOut(String),
    /// Our own machine has no process, no handle or no memory left for it.
    #[error("{0}")]
    Exhausted(String),
}

impl RunError {
    /// Why it could not be run: it cannot be, or our machine has nothing left to run it with.
    pub(crate) fn not_run(called: &str, error: &io::Error) -> Self {
        let text = format!("{called} could not be run: {error}");
        if is_exhausted(error) { Self::Exhausted(text) } else { Self::Failed(text) }
    }
}

/// Whether this says that the machine has no process, no handle or no memory left.
fn is_exhausted(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_processes_or_handles_is_no_fault_of_the_program() {
        for (errno, ours) in [
            (Errno::MFILE, true),
            (Errno::NFILE, true),
            (Errno::NOMEM, true),
            (Errno::AGAIN, true),
            (Errno::NOSPC, false),
            (Errno::NOENT, false),
            (Errno::ACCESS, false),
            (Errno::NOEXEC, false),
        ] {
            let told = RunError::not_run("it", &errno.into());
            assert_eq!(matches!(told, RunError::Exhausted(_)), ours, "{errno:?}");
        }
    }
}
