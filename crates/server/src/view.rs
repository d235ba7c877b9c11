//! A job's row as whoever asks sees it.
//!
//! To its owner inner codes show as their public ones, and lines that were written for operators are not shown at all. Operators
//! see whose it is, the inner codes of attempts and those lines.

use redrive_api::{Attempt, Event, Job, JobError, LastFailure, Links};
use redrive_convert::Pdf;
use redrive_model::{Code, Shown, State, instant};
use redrive_store::{AttemptRow, JobRow};

use crate::own::{Desk, Owned};
use crate::refusal::Refusal;

/// Many jobs, in their order.
pub(crate) async fn jobs(desk: &Desk, owned: &[Owned]) -> Result<Vec<Job>, Refusal> {
    Ok(with_pdfs(desk, owned).await?.into_iter().map(|(job, _)| job).collect())
}

/// Many jobs, in their order, with what they were asked to convert. Two looks, however many there are.
pub(crate) async fn with_pdfs(desk: &Desk, owned: &[Owned]) -> Result<Vec<(Job, Option<Pdf>)>, Refusal> {
    let pdfs = desk.pdfs(owned).await?;
    let failures = desk.last_failures(owned).await?;
    let all = owned.iter().zip(pdfs).zip(failures);
    Ok(all.map(|((owned, pdf), failure)| (view(owned, pdf.as_ref(), failure), pdf)).collect())
}

/// One job.
pub(crate) async fn job(owned: &Owned) -> Result<Job, Refusal> {
    Ok(with_pdf(owned).await?.0)
}

/// One job with what it was asked to convert.
pub(crate) async fn with_pdf(owned: &Owned) -> Result<(Job, Option<Pdf>), Refusal> {
    let pdf = owned.pdf().await?;
    Ok((view(owned, pdf.as_ref(), owned.last_failure().await?), pdf))
}

fn view(owned: &Owned, pdf: Option<&Pdf>, failure: Option<redrive_store::LastFailure>) -> Job {
    let error = error_of(owned);
    let last_failure = last_failure(owned, error.as_ref(), failure);
    let can_download = can_download(owned);
    // What was refused at the door has no source.
    let can_retry = owned.state == State::Failed && pdf.is_none_or(|pdf| !pdf.source.is_empty());
    let can_cancel = !owned.state.is_terminal();
    let at = format!("/api/jobs/{}", owned.id);
    let link = |possible: bool, name: &str| possible.then(|| format!("{at}/{name}"));
    Job {
        id: owned.id.to_string(),
        workload: owned.workload.to_string(),
        status: owned.shown.as_str().to_owned(),
        owner: owned.owner.as_ref().filter(|_| owned.for_operator()).map(ToString::to_string),
        filename: owned.label.clone(),
        bytes: pdf.map(|pdf| pdf.bytes).or_else(|| owned.fetched().map(|made| made.bytes)),
        mapping: pdf.map(|pdf| pdf.mapping.clone()),
        attempt: owned.attempt,
        max_attempts: owned.max_attempts.or_else(|| owned.policy_cap()),
        created_at: owned.created_at,
        queued_at: owned.queued_at,
        started_at: owned.started_at,
        finished_at: owned.finished_at,
        retry_after: match owned.shown {
            Shown::Scheduled | Shown::WaitingRetry => Some(owned.due_at),
            Shown::Queued
            | Shown::WaitingBatch
            | Shown::Held
            | Shown::Processing
            | Shown::Complete
            | Shown::Partial
            | Shown::Failed
            | Shown::Cancelled => None,
        },
        worker: owned.leased_by.filter(|_| owned.for_operator()).map(|worker| worker.to_string()),
        lease_expires_at: owned.lease_expires_at.filter(|_| owned.for_operator()),
        error,
        last_failure,
        can_download,
        can_retry,
        generation: owned.generation,
        links: Links {
            attempts: format!("{at}/attempts"),
            events: format!("{at}/events"),
            explain: format!("{at}/explain"),
            download: link(can_download, "download"),
            retry: link(can_retry, "retry"),
            cancel: link(can_cancel, "cancel"),
            this: at,
        },
    }
}

/// Whether there is a result to be fetched.
pub(crate) fn can_download(owned: &Owned) -> bool {
    owned.state == State::Complete
        && owned.expired_at.is_none()
        && (owned.made().is_some() || owned.fetched().is_some_and(|made| owned.place(&made).is_some()))
}

fn error_of(owned: &Owned) -> Option<JobError> {
    let code = owned.failure_code?;
    let message = owned.failure_message.clone().unwrap_or_else(|| sentence(code));
    Some(JobError { code: code.public().name().to_owned(), message })
}

/// The newest failure: of the whole job when it has failed, else of an attempt.
fn last_failure(
    owned: &Owned,
    error: Option<&JobError>,
    attempt: Option<redrive_store::LastFailure>,
) -> Option<LastFailure> {
    if let (Some(error), Some(at)) = (error, owned.finished_at) {
        return Some(LastFailure { code: error.code.clone(), message: error.message.clone(), at });
    }
    let redrive_store::LastFailure { code, at } = attempt?;
    Some(LastFailure { code: code.public().name().to_owned(), message: sentence(code), at })
}

/// Whether only its attempts know its newest failure: not when the job itself has failed, when nothing has run, or when the first
/// run was the last.
pub(crate) fn attempts_know(row: &JobRow) -> bool {
    let first_only = row.state == State::Complete && row.attempt <= 1 && row.token.0 <= 1;
    row.failure_code.is_none() && row.token.0 > 0 && !first_only
}

/// The registry's sentence for people outside.
fn sentence(code: Code) -> String {
    code.public().entry().what_happened.to_owned()
}

/// One execution of this job.
pub(crate) fn attempt(owned: &Owned, row: &AttemptRow) -> Attempt {
    let inner = owned.for_operator();
    let code = |code: Code| if inner { code } else { code.public() };
    let line = row.message.clone().filter(|_| inner);
    let took = row.started_at.map(|started| instant::between(started, row.ended_at));
    Attempt {
        number: row.number,
        generation: row.generation,
        started_at: row.started_at,
        ended_at: row.ended_at,
        duration_ms: took.and_then(|took| u64::try_from(took.as_millis()).ok()),
        outcome: row.outcome.clone(),
        code: row.code.map(|inner| code(inner).name().to_owned()),
        message: line.or_else(|| row.code.map(sentence)),
        target_status: row.target_status,
    }
}

/// One transition.
pub(crate) fn event(event: &redrive_store::Event) -> Event {
    Event {
        sequence: event.seq.0,
        r#type: event.kind.as_str().to_owned(),
        at: event.at,
        job_id: event.job.map(|job| job.to_string()),
        workload: event.workload.as_ref().map(ToString::to_string),
        generation: event.generation,
        attempt: event.attempt,
        duration_ms: event.duration_ms,
        gateway_http_status: event.target_status,
        error_code: event.code.map(|code| code.public().name().to_owned()),
    }
}
