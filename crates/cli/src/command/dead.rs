//! `redrive dead`: jobs that policy gave up on, as a table, as the API's own JSON, or written out for other systems; and not wanted.

use std::io::{ErrorKind, Write};
use std::path::Path;

use redrive_api::client::{Client, Download};
use redrive_api::{DeadLetter, DeadQuery, NDJSON, PROTOBUF, ReplayFilter};
use redrive_model::text::one_line_chars;

use super::asking::{ask, each, pages};
use super::{discarding, replaying};
use crate::args::{Dead, Form, Shared, WhichDead, WhichOpen};
use crate::exit::{Exit, Stop};
use crate::say;

pub(crate) fn run(shared: &Shared, dead: &Dead) -> Result<(), Stop> {
    match dead {
        Dead::Replay(asked) => replaying::check(asked)?,
        Dead::Discard(asked) => discarding::check(asked)?,
        Dead::List { .. } | Dead::Show { .. } | Dead::Export { .. } => {}
    }
    ask(shared, dead.flags(), async |client| match dead {
        Dead::List { which, limit, json, .. } => {
            let page = async |rows: usize, cursor| {
                let wanted = DeadQuery { limit: Some(rows.to_string()), cursor, ..query(which) };
                let list = client.dead_letters(&wanted).await?;
                Ok((list.dead_letters, list.next_cursor))
            };
            pages(*limit, page, |letter| row(letter, *json)).await
        }
        Dead::Show { offsets, json, .. } => {
            each(offsets, async |offset| show(&client.dead_letter(offset).await?, *json)).await
        }
        Dead::Export { which, format, out, .. } => {
            export(client, &query(which), *format, out.as_deref()).await
        }
        Dead::Replay(asked) => replaying::replay(client, asked).await,
        Dead::Discard(asked) => discarding::discard(client, asked).await,
    })
}

fn query(which: &WhichDead) -> DeadQuery {
    let WhichDead { code, workload, group, owner, since, until, state } = which.clone();
    let (since, until) = (since.map(|at| at.to_string()), until.map(|at| at.to_string()));
    DeadQuery { code, workload, group, owner, since, until, state, limit: None, cursor: None }
}

/// The filter of those that are open.
pub(super) fn filter(which: &WhichOpen) -> ReplayFilter {
    let WhichOpen { all: _, code, group, workload, owner, target, search, since, until } = which;
    ReplayFilter {
        workload: workload.clone(),
        code: code.clone(),
        group: group.clone(),
        owner: owner.clone(),
        target: target.clone(),
        q: search.clone(),
        since: since.map(|at| at.to_string()),
        until: until.map(|at| at.to_string()),
        ..ReplayFilter::default()
    }
}

/// Writes everything that matches. A file gets its name when it is whole: half of it never looks like all of it.
async fn export(client: &Client, wanted: &DeadQuery, form: Form, out: Option<&Path>) -> Result<(), Stop> {
    let form = match form {
        Form::Json => NDJSON,
        Form::Protobuf => PROTOBUF,
    };
    let mut all = client.export_dead_letters(wanted, form).await?;
    let Some(path) = out else {
        return match copy(&mut all, &mut std::io::stdout()).await {
            // A reader that has seen enough.
            Err(Written::File(error)) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
            done => done.map_err(|failed| failed.stop("stdout")),
        };
    };
    let named = path.display().to_string();
    let failed = |error: std::io::Error| Written::File(error).stop(&named);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    copy(&mut all, &mut file).await.map_err(|failed| failed.stop(&named))?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Why an export came to nothing.
enum Written {
    Server(Stop),
    File(std::io::Error),
}

impl Written {
    fn stop(self, path: &str) -> Stop {
        match self {
            Self::Server(stop) => stop,
            Self::File(error) => Stop::new(Exit::Failed, format!("cannot write {path}: {error}")),
        }
    }
}

async fn copy(all: &mut Download, to: &mut impl Write) -> Result<(), Written> {
    while let Some(piece) = all.chunk().await.map_err(|error| Written::Server(error.into()))? {
        to.write_all(&piece).map_err(Written::File)?;
    }
    to.flush().map_err(Written::File)
}

pub(super) fn row(letter: &DeadLetter, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(letter);
    }
    let DeadLetter { offset, state, failed_at, workload, failure_code, .. } = letter;
    let row = format!("{offset:>6}  {state:<9} {failed_at:.0}  {workload:<7}  {failure_code}");
    say::row(&row, &format!("{}  {}", letter.task.resource_id, letter.failure_message))
}

fn show(letter: &DeadLetter, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(letter);
    }
    let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let fact = |name: &str| letter.metadata.get(name).cloned();
    let lines = [
        ("offset", letter.offset.to_string()),
        ("state", letter.state.clone()),
        ("job", letter.job_id.clone()),
        ("workload", letter.workload.clone()),
        ("resource", text(filled(&one_line_chars(&letter.task.resource_id, 200)))),
        ("url", text(filled(&letter.task.url))),
        ("owner", text(letter.owner.clone())),
        ("failure", format!("{}: {}", letter.failure_code, letter.failure_message)),
        ("inner code", text(fact("inner_code"))),
        ("reason", letter.reason.clone()),
        ("status", text(fact("status"))),
        ("proxy", text(fact("proxy"))),
        ("attempts", letter.attempts.to_string()),
        ("died", letter.failed_at.to_string()),
        ("closed", text(letter.closed_at.map(|at| at.to_string()))),
        ("group", letter.group.clone()),
        ("batch", text(fact("batch"))),
        ("before", text(letter.previous_offset.map(|offset| offset.to_string()))),
    ];
    for (name, value) in lines {
        say::line(&format!("{name:<10} {value}"))?;
    }
    Ok(())
}
