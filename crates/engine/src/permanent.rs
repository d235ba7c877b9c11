//! Work that never ends: one per name in the whole fleet.

use redrive_model::{Done, Failure, Policy};

use crate::Context;

/// Infrastructure that must go on: a projector, a relay, a sweeper. It runs on one worker at a time, wherever that is; when
/// that worker dies, another takes it over and goes on from the saved state.
pub trait Permanent: Send + Sync + 'static {
    /// Never gives up; waits longer after each failure, at most five minutes.
    fn policy(&self) -> Policy {
        Policy::permanent()
    }

    /// One run. [`Done::RescheduleIn`] and its sisters say when the next one is; [`Done::Complete`] ends it until the next
    /// start of a process that has it.
    fn run(&self, ctx: Context) -> impl Future<Output = Result<Done, Failure>> + Send;
}
