//! `redrive jobs`: what a server has, as a table or as the API's own JSON, one object per line.

use redrive_api::client::{Client, ClientError, Wanted};
use redrive_api::{Event, Job};
use redrive_model::text::one_line_chars;

use super::asking::{ask, each, pages};
use super::cancelling;
use crate::args::{Jobs, Shared};
use crate::exit::{Exit, Stop};
use crate::say;

pub(crate) fn run(shared: &Shared, jobs: &Jobs) -> Result<(), Stop> {
    if let Jobs::Cancel(asked) = jobs {
        cancelling::check(asked)?;
    }
    ask(shared, jobs.flags(), async |client| match jobs {
        Jobs::List {
            status,
            code,
            search,
            since,
            workload,
            target,
            worker,
            batch,
            members,
            limit,
            json,
            ..
        } => {
            let wanted = Wanted {
                workload: workload.clone(),
                batch: batch.clone(),
                members: members.then_some(true),
                status: (!status.is_empty()).then(|| status.join(",")),
                code: code.clone(),
                q: search.clone(),
                since: since.clone(),
                target: target.clone(),
                worker: worker.clone(),
                ..Wanted::default()
            };
            let page = async |rows, cursor| {
                let page = client.jobs(&Wanted { limit: Some(rows), cursor, ..wanted.clone() }).await?;
                Ok((page.jobs, page.next_cursor))
            };
            pages(*limit, page, |job| row(job, *json)).await
        }
        Jobs::Show { ids, json, .. } => each(ids, async |id| show(&client.job(id).await?, *json)).await,
        Jobs::Retry { ids, json, .. } => each(ids, async |id| row(&client.retry(id).await?, *json)).await,
        Jobs::Cancel(asked) => cancelling::cancel(client, asked).await,
        Jobs::Watch { ids, json, .. } => watch(client, ids, *json).await,
    })
}

/// Prints events as they happen; with ids until those jobs have ended.
async fn watch(client: &Client, ids: &[String], json: bool) -> Result<(), Stop> {
    let mut waiting: Vec<&String> = ids.iter().collect();
    let mut failed = 0;
    let mut after = None;
    loop {
        let mut events = client.events(after).await?;
        // What ended before we listened tells nothing more.
        let mut open = Vec::new();
        for id in waiting {
            let job = client.job(id).await.map_err(|error| Stop::from(error).about(id))?;
            if job.finished_at.is_some() {
                failed += usize::from(job.status != "complete");
                row(&job, json)?;
            } else {
                open.push(id);
            }
        }
        waiting = open;
        while ids.is_empty() || !waiting.is_empty() {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                // The server was started again, or dropped us: what we missed follows.
                Ok(None) | Err(ClientError::Unreachable(_)) => break,
                Err(error) => return Err(error.into()),
            };
            after = Some(event.sequence);
            let job = event.job_id.clone().unwrap_or_default();
            if !ids.is_empty() && !ids.contains(&job) {
                continue;
            }
            tell(&event, json)?;
            if matches!(event.r#type.as_str(), "complete" | "failed" | "cancelled") {
                failed += usize::from(event.r#type != "complete");
                waiting.retain(|id| **id != job);
            }
        }
        if !ids.is_empty() && waiting.is_empty() {
            let text = format!("{failed} of {} did not complete", ids.len());
            return if failed == 0 { Ok(()) } else { Err(Stop::new(Exit::SomeFailed, text)) };
        }
    }
}

fn tell(event: &Event, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(event);
    }
    let job = event.job_id.as_deref().unwrap_or("-");
    let code = event.error_code.as_deref().unwrap_or("");
    say::line(&format!("{}  {job}  {:<10} attempt {} {code}", event.at, event.r#type, event.attempt))
}

pub(super) fn row(job: &Job, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(job);
    }
    let name = one_line_chars(job.filename.as_deref().unwrap_or("-"), 40);
    let code = job.error.as_ref().map_or("", |error| error.code.as_str());
    say::line(&format!("{}  {:<13} {}  {name}  {code}", job.id, job.status, job.created_at))
}

fn show(job: &Job, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(job);
    }
    let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let attempts =
        job.max_attempts.map_or_else(|| job.attempt.to_string(), |most| format!("{} of {most}", job.attempt));
    let lines = [
        ("job", job.id.clone()),
        ("status", job.status.clone()),
        ("file", text(job.filename.clone().map(|name| one_line_chars(&name, 200)))),
        ("mapping", text(job.mapping.clone())),
        ("bytes", text(job.bytes.map(|bytes| bytes.to_string()))),
        ("owner", text(job.owner.clone())),
        ("attempt", attempts),
        ("created", job.created_at.to_string()),
        ("started", text(job.started_at.map(|at| at.to_string()))),
        ("finished", text(job.finished_at.map(|at| at.to_string()))),
        ("worker", text(job.worker.clone())),
        ("lease ends", text(job.lease_expires_at.map(|at| at.to_string()))),
        ("next try", text(job.retry_after.map(|at| at.to_string()))),
        ("failure", text(job.error.as_ref().map(|error| format!("{}: {}", error.code, error.message)))),
    ];
    for (name, value) in lines {
        say::line(&format!("{name:<10} {value}"))?;
    }
    Ok(())
}
