//! From a file to an outcome: a turn at the gate, a child on a thread of its own, and nobody left behind.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;

use super::problem::{Code, Problem};
use crate::cage::{self, Cage, Fault, Outcome, Output, Task};

/// Up to this size a result is read at once and sent from memory.
const SMALL: u64 = 256 * 1024;

/// A result and how long it took.
pub(super) struct Done {
    pub(super) output: Arc<Output>,
    /// All of it, when it is small.
    pub(super) bytes: Option<Bytes>,
    pub(super) took: Duration,
}

/// Runs a child on the file. Dropping the future kills it: a client that has gone away wants nothing any more.
pub(super) async fn run(
    cage: Cage,
    file: File,
    task: Task,
    place: Option<OwnedSemaphorePermit>,
) -> Result<Done, Problem> {
    let start = Instant::now();
    let (_stop_on_drop, stopped) = cage::stopper().map_err(|error| fault(&Fault::Start(error)))?;
    let running = spawn_blocking(move || {
        let outcome = cage.run(&file, &task, &stopped);
        // The place is free when the child is gone, not when the client is.
        drop(place);
        match outcome? {
            Outcome::Done(output) if output.len() <= SMALL => {
                let bytes = output.read_at(0, usize::MAX).map_err(Fault::Disk)?;
                Ok(Ok((output, Some(bytes.into()))))
            }
            Outcome::Done(output) => Ok(Ok((output, None))),
            Outcome::Refused(refusal) => Ok(Err(refusal)),
        }
    });
    let outcome: Result<_, Fault> = running.await.map_err(|_| fault(&Fault::Bug(-1)))?;
    match outcome {
        Ok(Ok((output, bytes))) => Ok(Done { output: Arc::new(output), bytes, took: start.elapsed() }),
        Ok(Err(refusal)) => Err(refusal.into()),
        Err(error) => Err(fault(&error)),
    }
}

/// Our own faults. What may be better in a moment says so; what will not is a 500.
fn fault(fault: &Fault) -> Problem {
    tracing::error!(event = "gateway.fault", %fault, "a conversion failed through no fault of its file");
    match fault {
        Fault::Start(_) | Fault::Bug(_) => Problem::new(Code::Internal, "It is not the file's fault."),
        Fault::Disk(_) => Problem::new(Code::Busy, "There is no room for the conversion at the moment."),
        Fault::Starved => Problem::new(Code::Busy, "The machine was too busy to convert the file in time."),
        Fault::Stopped | Fault::Interrupted(_) => {
            Problem::new(Code::Stopping, "The conversion was interrupted; send the file again.")
        }
    }
}
