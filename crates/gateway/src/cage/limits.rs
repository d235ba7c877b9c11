//! The child's limits on itself, set before it reads a byte.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::order::Order;
use super::output::MAX_REPORT;

/// Room for the frames of a reader, whatever the shell's own setting is.
const STACK: u64 = 16 << 20;

/// Sets all of them. A limit that cannot be set is an error: the child must not run without it.
pub(super) fn set(order: &Order) -> io::Result<()> {
    limit(Resource::Core, 0, 0)?;
    limit(Resource::As, order.memory, order.memory)?;
    // The signal at the soft limit ends the child; the hard one is for a child that has learnt to ignore it.
    limit(Resource::Cpu, order.cpu_seconds, order.cpu_seconds.saturating_add(1))?;
    // The writer stops itself at the limit; the room above is for the report.
    let file = order.output.saturating_add(2 * MAX_REPORT);
    limit(Resource::Fsize, file, file)?;
    limit(Resource::Nofile, 16, 16)?;
    limit(Resource::Nproc, 0, 0)?;
    limit(Resource::Stack, STACK, STACK)
}

/// Lowers a limit; one that is lower already stays.
fn limit(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let before = getrlimit(resource);
    let lower = |new: u64, old: Option<u64>| Some(old.map_or(new, |old| old.min(new)));
    let maximum = lower(hard, before.maximum);
    setrlimit(resource, Rlimit { current: lower(soft, maximum), maximum })?;
    Ok(())
}

/// The child dies with its parent, and nobody may look into it.
#[cfg(target_os = "linux")]
pub(super) fn bind_to_parent(order: &Order) -> io::Result<()> {
    use rustix::process::{
        DumpableBehavior, Signal, getppid, set_dumpable_behavior, set_parent_process_death_signal,
    };
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before the line above.
    let parent = getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
    if parent == Some(order.parent) { Ok(()) } else { Err(io::Error::other("the parent is gone")) }
}

/// Elsewhere the limits of time have to do.
#[cfg(not(target_os = "linux"))]
pub(super) fn bind_to_parent(_: &Order) -> io::Result<()> {
    Ok(())
}
