//! `redrive workers`: the processes that run jobs.

use redrive_api::Worker;

use super::asking::ask;
use crate::args::{Shared, Workers};
use crate::exit::Stop;
use crate::say;

pub(crate) fn run(shared: &Shared, workers: &Workers) -> Result<(), Stop> {
    ask(shared, workers.flags(), async |client| match workers {
        Workers::List { json, .. } => {
            for one in client.workers().await?.workers {
                row(&one, *json)?;
            }
            Ok(())
        }
    })
}

fn row(worker: &Worker, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(worker);
    }
    let Worker { id, state, leases, .. } = worker;
    say::row(&format!("{id}  {state:<8}  {leases:>4} leases"), &worker.name)
}
