//! `redrive workers`: the processes that run jobs, and having them take no new work.

use redrive_api::client::Client;
use redrive_api::{DrainWorker, Worker};

use super::asking::{ask, each, pages, part};
use crate::args::{Shared, Workers};
use crate::exit::Stop;
use crate::say;

pub(crate) fn run(shared: &Shared, workers: &Workers) -> Result<(), Stop> {
    ask(shared, workers.flags(), async |client| match workers {
        Workers::List { json, .. } => {
            let page = async |rows, cursor| {
                let list = client.workers(&part(rows, cursor)).await?;
                Ok((list.workers, list.next_cursor))
            };
            pages(usize::MAX, page, |one| row(one, *json)).await
        }
        Workers::Drain { cancel, acted } => {
            let how = DrainWorker { cancel: *cancel, reason: acted.reason.clone() };
            let told = each(&acted.ids, async |id| row(&client.drain_worker(id, &how).await?, acted.json));
            told.await?;
            if !cancel {
                what_next(client).await?;
            }
            Ok(())
        }
    })
}

/// When it is done, and whether somebody is left.
async fn what_next(client: &Client) -> Result<(), Stop> {
    say::note(
        "it stops taking jobs at its next heartbeat; `redrive workers list` says draining then, and 0 leases when it is done",
    );
    // Those that live stand on the first page.
    let workers = client.workers(&part(200, None)).await?.workers;
    if !workers.iter().any(|one| one.state == "alive" && !one.drain_wanted) {
        say::note(
            "no other worker is running: jobs wait until one is, or until this is taken back with --cancel",
        );
    }
    Ok(())
}

fn row(worker: &Worker, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(worker);
    }
    let Worker { id, state, leases, .. } = worker;
    let wanted = if worker.drain_wanted && state == "alive" { "asked to drain: " } else { "" };
    say::row(&format!("{id}  {state:<8}  {leases:>4} leases"), &format!("{wanted}{}", worker.name))
}
