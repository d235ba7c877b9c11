//! Which call goes wrong, and how.

use std::time::Duration;

/// The n-th call of a verb, from 1, and what happens to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The name of a function of the store.
    pub verb: &'static str,
    /// From 1.
    pub nth: usize,
    /// How it goes wrong.
    pub fault: Fault,
}

/// What a wire can do to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It never arrives, and the caller hears so.
    Refused,
    /// It is done, and the caller does not hear it.
    AnswerLost,
    /// It arrives this much later.
    Late(Duration),
    /// The caller dies before it is done.
    CrashBefore,
    /// The caller dies after it is done.
    CrashAfter,
}
