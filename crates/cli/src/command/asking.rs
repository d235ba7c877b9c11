//! What commands share that ask a server: a runtime that can be interrupted, several things one after the other, pages.

use redrive_api::PageQuery;
use redrive_api::client::Client;

use crate::args::Shared;
use crate::exit::{Exit, Stop};
use crate::logs::Usual;
use crate::settings::Flags;
use crate::settings::table::CLIENT;
use crate::{near_server, settings};

/// The most that the server gives on one page.
const PAGE: usize = 200;

/// Asks the server that the settings name, until it is told to stop.
pub(super) fn ask(
    shared: &Shared,
    flags: &Flags<CLIENT>,
    question: impl AsyncFnOnce(&Client) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let values = settings::read(shared, flags, Usual::Warn)?;
    let client = near_server::client(&values)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            done = question(&client) => done,
            () = crate::signals::told_to_stop() => Err(Stop::new(Exit::Interrupted, "interrupted")),
        }
    })
}

/// Goes through all, whatever becomes of one of them. What could not be done is told, and the worst of it is how the command ends.
pub(super) async fn each(ids: &[String], act: impl AsyncFn(&str) -> Result<(), Stop>) -> Result<(), Stop> {
    let mut worst: Option<Stop> = None;
    for id in ids {
        let Err(stop) = act(id).await else { continue };
        let stop = stop.about(id);
        let (kept, told) = match worst {
            Some(before) if before.exit().badness() >= stop.exit().badness() => (before, Some(stop)),
            before => (stop, before),
        };
        worst = Some(kept);
        let _ = told.map(Stop::report);
    }
    worst.map_or(Ok(()), Err)
}

/// The words that ask for a page.
pub(super) fn part(rows: usize, cursor: Option<String>) -> PageQuery {
    PageQuery { limit: Some(rows.to_string()), cursor }
}

/// Goes through pages until so many rows were told or there are no more. A page may be empty and not the last.
pub(super) async fn pages<T>(
    limit: usize,
    page: impl AsyncFn(usize, Option<String>) -> Result<(Vec<T>, Option<String>), Stop>,
    row: impl Fn(&T) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let (mut left, mut cursor) = (limit, None);
    while left > 0 {
        let (rows, next) = page(left.min(PAGE), cursor.clone()).await?;
        for one in &rows {
            row(one)?;
        }
        left = left.saturating_sub(rows.len());
        if next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    Ok(())
}
