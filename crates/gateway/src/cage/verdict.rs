//! How a child ended, and whose fault that was.
//!
//! A child that crashed or ran into a limit met a file that would do it again: the file's fault, and a refusal. Only what no
//! file can cause is ours.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::convert::{Refusal, RefusalCode};

/// The child wrote a report.
pub(super) const EXIT_DONE: u8 = 0;
/// It did not understand its order.
pub(super) const EXIT_ORDER: u8 = 64;
/// What it wrote was no XML, or not a valid report: a mistake of ours.
pub(super) const EXIT_BUG: u8 = 70;
/// It could not set its limits, or its parent was gone.
pub(super) const EXIT_CAGE: u8 = 71;
/// It could not read its input or write its output: the disk, not the file.
pub(super) const EXIT_DISK: u8 = 74;

/// Why there is neither a result nor a refusal. The same file may well be converted later.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The child could not be started.
    #[error("cannot start the child: {0}")]
    Start(#[source] io::Error),
    /// The input or the output could not be read or written.
    #[error("cannot read or write the files of a conversion: {0}")]
    Disk(#[source] io::Error),
    /// The caller took back its order.
    #[error("the conversion was stopped")]
    Stopped,
    /// Somebody else ended the child.
    #[error("the child was told to end (signal {0})")]
    Interrupted(i32),
    /// The time ran out while the child was hardly computing: the machine is too busy.
    #[error("the machine was too busy to convert in time")]
    Starved,
    /// A mistake of ours.
    #[error("the child ended with code {0}")]
    Bug(i32),
}

/// What the exit status alone says.
#[derive(Debug)]
pub(super) enum Ending {
    /// Look at the report.
    Report,
    /// The file's fault.
    Refused(Refusal),
    /// Ours.
    Fault(Fault),
}

/// Reads an exit status.
pub(super) fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => match u8::try_from(code) {
            Ok(EXIT_DONE) => Ending::Report,
            Ok(EXIT_DISK) => Ending::Fault(Fault::Disk(io::Error::other("the child could not go on"))),
            Ok(EXIT_ORDER | EXIT_BUG | EXIT_CAGE) => Ending::Fault(Fault::Bug(code)),
            // A panic ends with 101.
            Ok(_) | Err(_) => Ending::Refused(refused("The file made the converter fail.")),
        },
        (None, Some(signal)) => match signal {
            signals::XCPU => Ending::Refused(refused("The file takes too much time to compute.")),
            signals::XFSZ => Ending::Refused(refused("The result is larger than allowed.")),
            // Rust aborts when there is no memory left, and when the stack is used up.
            signals::ABRT => Ending::Refused(refused("The file takes too much memory.")),
            signals::TERM | signals::INT | signals::HUP | signals::QUIT => {
                Ending::Fault(Fault::Interrupted(signal))
            }
            _ => Ending::Refused(refused("The file made the converter fail.")),
        },
        (None, None) => Ending::Fault(Fault::Bug(-1)),
    }
}

/// A refusal because of a limit.
pub(super) fn refused(detail: &str) -> Refusal {
    Refusal::new(RefusalCode::LimitExceeded, detail)
}

/// The numbers of signals, the same on every system that we build for.
mod signals {
    use rustix::process::Signal;

    pub(super) const HUP: i32 = Signal::HUP.as_raw();
    pub(super) const INT: i32 = Signal::INT.as_raw();
    pub(super) const QUIT: i32 = Signal::QUIT.as_raw();
    pub(super) const ABRT: i32 = Signal::ABORT.as_raw();
    pub(super) const TERM: i32 = Signal::TERM.as_raw();
    pub(super) const XCPU: i32 = Signal::XCPU.as_raw();
    pub(super) const XFSZ: i32 = Signal::XFSZ.as_raw();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(raw: i32) -> &'static str {
        match ending(ExitStatus::from_raw(raw)) {
            Ending::Report => "report",
            Ending::Refused(refusal) => {
                assert_eq!(refusal.code, RefusalCode::LimitExceeded);
                "refused"
            }
            Ending::Fault(_) => "fault",
        }
    }

    #[test]
    fn crashes_and_limits_are_the_files_fault_and_nothing_else_is() {
        for (raw, expected) in [
            (0, "report"),
            (101 << 8, "refused"),
            (1 << 8, "refused"),
            (64 << 8, "fault"),
            (70 << 8, "fault"),
            (71 << 8, "fault"),
            (74 << 8, "fault"),
            (libc::SIGSEGV, "refused"),
            (libc::SIGBUS, "refused"),
            (libc::SIGILL, "refused"),
            (libc::SIGFPE, "refused"),
            (libc::SIGABRT, "refused"),
            (libc::SIGKILL, "refused"),
            (libc::SIGXCPU, "refused"),
            (libc::SIGXFSZ, "refused"),
            (libc::SIGSYS, "refused"),
            (libc::SIGTERM, "fault"),
            (libc::SIGINT, "fault"),
            (libc::SIGHUP, "fault"),
            (libc::SIGQUIT, "fault"),
        ] {
            assert_eq!(word(raw), expected, "{raw}");
        }
    }
}
