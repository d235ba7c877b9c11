//! The files that rows refer to are there: a queued job has its source, a complete one its result.

use std::path::Path;
use std::sync::Arc;

use redrive_api::Finding;
use redrive_blob::{BlobError, Blobs, Key, Location};
use redrive_convert::{Made, Pdf};
use redrive_engine::{Engine, Input};
use redrive_model::{State, WorkloadName};
use redrive_store::{JobFilter, JobRow, PageRequest, Payload};

use crate::settings::{Serving, Values};

/// The newest so many jobs are looked at.
const MOST: usize = 20_000;
/// So many are named; the rest is a number.
const NAMED: usize = 5;

/// What was found missing.
#[derive(Default)]
struct Missing {
    looked: usize,
    /// Of jobs that will still run, or are complete.
    needed: Vec<String>,
    /// Of jobs that failed: they cannot be retried.
    spare: usize,
}

pub(super) async fn examine(engine: &Engine, values: &Values, serving: &Serving) -> Vec<Finding> {
    let mut found = Vec::new();
    let sources = open(&serving.uploads, values, &mut found).await;
    let results = open(&serving.results, values, &mut found).await;
    let (Some(sources), Some(results)) = (sources, results) else { return found };
    match walk(engine, &*sources.0, &*results.0).await {
        Ok(missing) => found.push(missing.finding()),
        Err(why) => found.push(Finding::bad("files", why, "See whether database and files can be reached.")),
    }
    found
}

/// A place that is there. One that is not is never made by looking.
async fn open(
    location: &Location,
    values: &Values,
    found: &mut Vec<Finding>,
) -> Option<(Arc<dyn Blobs>, tempfile::TempDir)> {
    if let Location::Folder(folder) = location
        && !Path::exists(folder)
    {
        let next = "See whether the disk is mounted and whether UPLOADS_DIR and RESULTS_DIR are right.";
        found.push(Finding::bad("files", format!("{} does not exist", folder.display()), next));
        return None;
    }
    match super::places::open_ours(location, values).await {
        Ok(opened) => Some(opened),
        Err(why) => {
            found.push(Finding::bad("files", why, "See whether it can be reached with these settings."));
            None
        }
    }
}

async fn walk(engine: &Engine, sources: &dyn Blobs, results: &dyn Blobs) -> Result<Missing, String> {
    let store = engine.store();
    let workload = WorkloadName::new(Pdf::WORKLOAD).ok();
    let filter = JobFilter { workload, ..JobFilter::default() };
    let (mut missing, mut cursor) = (Missing::default(), None);
    loop {
        let page = store.jobs(filter.clone(), PageRequest { limit: 200, cursor }).await.map_err(text)?;
        let payloads = store.payloads(page.rows.iter().map(|row| row.id).collect()).await.map_err(text)?;
        for (row, payload) in page.rows.iter().zip(payloads) {
            missing.looked += 1;
            let (kind, place, key) = match needed(row, payload) {
                Some((Kind::Source, key)) => ("source", sources, key),
                Some((Kind::Result, key)) => ("result", results, key),
                None => continue,
            };
            match place.head(&key).await {
                Ok(_) => {}
                Err(BlobError::NotFound { .. }) => {
                    // It may have ended, or retention may have taken it, since the row was read.
                    let now = store.job(row.id).await.map_err(text)?;
                    let still =
                        now.is_some_and(|now| now.state == row.state && now.expired_at == row.expired_at);
                    match row.state {
                        _ if !still => {}
                        State::Failed => missing.spare += 1,
                        State::Queued | State::Processing | State::Complete | State::Cancelled => {
                            missing.needed.push(format!("the {kind} of {} ({})", row.id, row.state.as_str()));
                        }
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        cursor = page.next;
        if cursor.is_none() || missing.looked >= MOST {
            return Ok(missing);
        }
    }
}

enum Kind {
    Source,
    Result,
}

/// The file that a row needs now.
fn needed(row: &JobRow, payload: Option<Payload>) -> Option<(Kind, Key)> {
    match row.state {
        State::Complete => {
            let made = row.result.as_deref().and_then(Made::parse)?;
            made.key().filter(|_| row.expired_at.is_none()).map(|key| (Kind::Result, key))
        }
        State::Queued | State::Processing | State::Failed => {
            let pdf: Pdf = serde_json::from_slice(&payload?.input).ok()?;
            // What was refused at the door never had one.
            let key = if pdf.source.is_empty() { None } else { pdf.source().ok() };
            key.map(|key| (Kind::Source, key))
        }
        State::Cancelled => None,
    }
}

impl Missing {
    fn finding(&self) -> Finding {
        if !self.needed.is_empty() {
            let named: Vec<&str> = self.needed.iter().take(NAMED).map(String::as_str).collect();
            let more = self.needed.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let next = "Somebody or something removed them: restore them from a backup, or upload the documents again.";
            return Finding::bad("files", format!("missing: {}{more}", named.join(", ")), next);
        }
        let looked = match self.looked {
            0 => "no conversions yet".to_owned(),
            n => format!("{n} conversions have the files they need"),
        };
        match self.spare {
            0 => Finding::good("files", looked),
            n => {
                let what = format!("{looked}; {n} failed ones have lost their source");
                Finding::note("files", what, "These cannot be retried: upload them again.")
            }
        }
    }
}

fn text(error: redrive_store::StoreError) -> String {
    error.to_string()
}
