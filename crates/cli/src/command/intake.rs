//! `redrive intake`: the folder or bucket of people, as a few lines or as the API's own JSON.

use std::time::Duration;

use redrive_api::client::Client;
use redrive_api::{ClearInFlight, DocumentQuery, IntakeDocument, IntakeLook, IntakeSettings, IntakeStatus};
use redrive_model::JobId;
use redrive_model::text::one_line_chars;

use super::asking::ask;
use crate::args::{Intake, Shared};
use crate::exit::{Exit, Stop};
use crate::say;

/// Between two looks of `watch`, and at a report that is being written.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn run(shared: &Shared, intake: &Intake) -> Result<(), Stop> {
    let set = |max_retries, paused| IntakeSettings { max_retries, paused };
    ask(shared, intake.flags(), async |client| match intake {
        Intake::Status { json, .. } => show(&client.intake().await?, *json),
        Intake::Watch { json, .. } => watch(client, *json).await,
        Intake::SetMaxRetries { retries, json, .. } => {
            changed(client, &set(Some(*retries), None), *json).await
        }
        Intake::Pause { json, .. } => changed(client, &set(None, Some(true)), *json).await,
        Intake::Resume { json, .. } => changed(client, &set(None, Some(false)), *json).await,
        Intake::Report { document, json, .. } => report(client, document, *json).await,
        Intake::ClearInflight { dry_run, json, .. } => clear(client, *dry_run, *json).await,
    })
}

async fn changed(client: &Client, settings: &IntakeSettings, json: bool) -> Result<(), Stop> {
    let status = client.set_intake(settings).await?;
    if json {
        return say::json(&status);
    }
    let words = match settings {
        IntakeSettings { max_retries: Some(n), .. } => {
            format!("from now on each PDF has {n} retries at most")
        }
        IntakeSettings { paused: Some(true), .. } => {
            "paused: nothing is taken and nothing begun; redrive intake resume ends it".to_owned()
        }
        IntakeSettings { .. } => "resumed".to_owned(),
    };
    say::line(&words)
}

/// Counts first, then gives back.
async fn clear(client: &Client, dry_run: bool, json: bool) -> Result<(), Stop> {
    let counted = client.clear_in_flight(&ClearInFlight { dry_run: true }).await?;
    if dry_run {
        if json {
            return say::json(&counted);
        }
        return say::line(&format!("{} would be cleared, {} in flight", counted.cleared, counted.in_flight));
    }
    say::note(&format!("{} of {} in flight are taken for nothing", counted.cleared, counted.in_flight));
    let cleared = client.clear_in_flight(&ClearInFlight { dry_run: false }).await?;
    if json {
        return say::json(&cleared);
    }
    say::line(&format!("{} cleared, {} in flight", cleared.cleared, cleared.in_flight))
}

/// Asks for a report, waits until it is written, and says where it lies.
async fn report(client: &Client, wanted: &str, json: bool) -> Result<(), Stop> {
    let id = if wanted.parse::<JobId>().is_ok() { wanted.to_owned() } else { find(client, wanted).await?.id };
    let asked = client.ask_report(&id).await?;
    let job = loop {
        let job = client.job(&asked.job_id).await?;
        if job.finished_at.is_some() {
            break job;
        }
        tokio::time::sleep(LOOK).await;
    };
    if let Some(error) = job.error {
        return Err(Stop::new(
            Exit::SomeFailed,
            format!("no report was written: {}: {}", error.code, error.message),
        ));
    }
    let document = client.document(&id).await?.document;
    if json {
        return say::json(&document);
    }
    say::line(document.report.as_deref().unwrap_or("-"))
}

/// The newest document with this path, or that lies there.
async fn find(client: &Client, wanted: &str) -> Result<IntakeDocument, Stop> {
    let name = wanted.rsplit('/').next().map(str::to_owned);
    let mut query = DocumentQuery { q: name, limit: Some("200".to_owned()), ..DocumentQuery::default() };
    loop {
        let page = client.documents(&query).await?;
        if let Some(found) = page.documents.into_iter().find(|one| one.path == wanted || one.place == wanted)
        {
            return Ok(found);
        }
        if page.next_cursor.is_none() {
            let text = format!("no document is called {}", one_line_chars(wanted, 200));
            return Err(Stop::new(Exit::NotFound, text));
        }
        query.cursor = page.next_cursor;
    }
}

/// Until it is told to stop.
async fn watch(client: &Client, json: bool) -> Result<(), Stop> {
    let mut last = None;
    loop {
        let status = client.intake().await?;
        // When the last look was is no news.
        let look = status.last_look.clone().map(|look| IntakeLook { at: None, ..look });
        let now = IntakeStatus { last_look: look, ..status.clone() };
        if last.as_ref() != Some(&now) {
            if json {
                say::json(&status)?;
            } else {
                say::line(&line(&status))?;
            }
            last = Some(now);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn line(status: &IntakeStatus) -> String {
    let lie = status.last_look.as_ref().map_or(0, |look| look.lie);
    let stages: Vec<String> = status.documents.iter().map(|(stage, n)| format!("{stage} {n}")).collect();
    format!("queue {lie}  in flight {}  {}{}", status.in_flight, stages.join("  "), held(status))
}

fn held(status: &IntakeStatus) -> String {
    let stopped = status.last_look.as_ref().and_then(|look| look.stopped.as_deref());
    match (status.paused, stopped) {
        (true, _) => "  paused".to_owned(),
        (false, Some(why)) => format!("  nothing is taken: {}", one_line_chars(why, 200)),
        (false, None) => String::new(),
    }
}

fn show(status: &IntakeStatus, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(status);
    }
    let look = status.last_look.as_ref();
    let count = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let stage = |name: &str| status.documents.get(name).copied().unwrap_or(0).to_string();
    let looked = look.and_then(|look| look.at).map_or_else(|| "not yet".to_owned(), |at| at.to_string());
    let lines = [
        ("place", one_line_chars(&status.root, 200)),
        ("looked", looked),
        ("in queue", count(look.map(|look| look.lie))),
        ("growing", count(look.map(|look| look.growing))),
        ("no PDFs", count(look.map(|look| look.ignored))),
        ("in flight", format!("{} of {}", status.in_flight, status.max_in_flight)),
        ("next try", status.waiting_retry.to_string()),
        ("done", stage("done")),
        ("failed", stage("failed")),
        ("gone", stage("gone")),
        ("retries", format!("{} (from the {})", status.max_retries, status.max_retries_from)),
        ("moves", format!("{} open", status.open_moves)),
    ];
    for (name, value) in lines {
        say::line(&format!("{name:<10} {value}"))?;
    }
    let held = held(status);
    if !held.is_empty() {
        say::line(&format!("{:<10} {}", "held", held.trim()))?;
    }
    Ok(())
}
