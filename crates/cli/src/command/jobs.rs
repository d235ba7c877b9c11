//! `redrive jobs`: what a server has, as a table or as the API's own JSON, one object per line.

use redrive_api::Job;
use redrive_api::client::Wanted;
use redrive_model::text::one_line_chars;

use super::asking::{ask, ask_again, each, pages};
use super::{cancelling, watching};
use crate::args::{Jobs, Shared};
use crate::exit::Stop;
use crate::say;

pub(crate) fn run(shared: &Shared, jobs: &Jobs) -> Result<(), Stop> {
    if let Jobs::Cancel(asked) = jobs {
        cancelling::check(asked)?;
    }
    if let Jobs::Watch { ids, json, flags } = jobs {
        return ask_again(shared, flags, async |find| watching::watch(find, ids, *json).await);
    }
    ask(shared, jobs.flags(), async |client| match jobs {
        Jobs::List {
            status,
            code,
            search,
            since,
            ended_since,
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
                since: since.map(|at| at.to_string()),
                ended_since: ended_since.map(|at| at.to_string()),
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
        Jobs::Watch { .. } => Ok(()),
    })
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
