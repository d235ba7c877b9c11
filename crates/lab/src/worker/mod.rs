//! A worker that can be hurt: an engine with short times and workloads that sleep, abort, block, tick and call.
//!
//! `lab-worker` is this module as a process. What a job does is said by its input, so that a test decides everything
//! before the process starts; what a job did is told by lines in files, so that it outlives the process.

mod abort;
mod block;
mod call;
pub mod line;
pub mod say;
mod tick;
mod write;

use std::sync::Arc;
use std::time::Duration;

use redrive::model::backoff::{Backoff, Curve, Jitter};
use redrive::model::breaker::Config;
use redrive::{Code, Engine, Failure, Options, Policy, Target};

pub use abort::Abort;
pub use block::Block;
pub use call::Call;
pub use tick::Tick;
pub use write::Write;

/// How long a lease lasts in these tests.
pub const TTL: Duration = Duration::from_secs(2);
/// How often expired leases are looked for.
pub const SWEEP: Duration = Duration::from_millis(500);
/// How long a drain waits.
pub const DRAIN: Duration = Duration::from_secs(3);
/// How long a handler may take to end after it was told to. Shorter than the margin at the end of a lease.
pub const GRACE: Duration = Duration::from_millis(200);
/// An attempt of [`Block`] has this long.
pub const BLOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// The wait between two attempts.
pub const BACKOFF: Duration = Duration::from_millis(100);

/// The numbers of a worker in these tests.
#[must_use]
pub fn options(name: &str) -> Options {
    Options {
        name: name.to_owned(),
        lease_ttl: TTL,
        sweep: SWEEP,
        poll: Duration::from_millis(200),
        drain: DRAIN,
        grace: GRACE,
        breaker: Arc::new(breaker),
        ..Options::default()
    }
}

/// Breakers that are tried again soon.
fn breaker(_target: &Target) -> Config {
    Config {
        cooldown: Duration::from_millis(300),
        cooldown_ceiling: Duration::from_millis(600),
        probe_ttl: Duration::from_secs(10),
        ramp_end: 4,
        ..Config::for_timeout(Duration::from_secs(1))
    }
}

/// Registers every workload of the laboratory.
pub fn register(engine: &Engine) {
    engine.register(write::Writes);
    engine.register(abort::Aborts);
    engine.register(block::Blocks);
    engine.register(call::Calls);
    engine.register(tick::Ticks);
}

/// So many executions, a tenth of a second apart.
fn policy(max_attempts: u32) -> Policy {
    let backoff = Backoff { curve: Curve::Steps(vec![BACKOFF]), jitter: Jitter::Percent(0) };
    Policy { max_attempts: Some(max_attempts), backoff, ..Policy::on_demand() }
}

/// A file of the laboratory cannot be used: the test's own fault.
fn broken(error: std::io::Error) -> Failure {
    Failure::new(Code::HandlerFailed, error)
}
