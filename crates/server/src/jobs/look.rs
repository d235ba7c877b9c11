//! Lists, one job, and its history.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{RawQuery, State};
use redrive_api::{Attempt, Event, Explanation, Job, JobList, ListQuery, Problem, Step};
use redrive_model::{Code, Shown};

use super::filter;
use crate::app::App;
use crate::own::Owned;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::upload::is_active;
use crate::view;

/// Own jobs, newest first; for operators all, but members of batches only when they are asked for.
#[utoipa::path(get, path = "/api/jobs", tag = "jobs", params(ListQuery), responses(
    (status = 200, body = JobList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 403, description = "FORBIDDEN: `batch` is not yours, or not there", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: `batch` is not there, said to operators alone; or this server does not fetch", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    session: Session,
    RawQuery(query): RawQuery,
) -> Result<Json<JobList>, Refusal> {
    let (filter, page) = filter::parse(filter::read(query.as_deref(), filter::KNOWN)?)?;
    let members = !filter.single;
    let page = app.desk().list(&session, filter, page).await?;
    let (mut active_count, mut counts) = (0, BTreeMap::new());
    for count in app.desk().counts(&session, members).await? {
        active_count += if is_active(count.shown) { count.jobs } else { 0 };
        counts.insert(count.shown.as_str().to_owned(), count.jobs);
    }
    let jobs = view::jobs(app.desk(), &page.jobs).await?;
    let timestamp = app.desk().now().await?;
    Ok(Json(JobList { jobs, active_count, counts, next_cursor: page.next, timestamp }))
}

/// One job.
#[utoipa::path(get, path = "/api/jobs/{id}", tag = "jobs", params(("id" = String, Path, description = "The job")), responses(
    (status = 200, body = Job),
    (status = 403, description = "FORBIDDEN: not yours, or not there", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn one(job: Owned) -> Result<Json<Job>, Refusal> {
    Ok(Json(view::job(&job).await?))
}

/// Its executions, oldest first.
#[utoipa::path(get, path = "/api/jobs/{id}/attempts", tag = "jobs", params(("id" = String, Path, description = "The job")), responses(
    (status = 200, body = Vec<Attempt>),
    (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn attempts(job: Owned) -> Result<Json<Vec<Attempt>>, Refusal> {
    Ok(Json(job.attempts().await?.iter().map(|row| view::attempt(&job, row)).collect()))
}

/// Its transitions, oldest first.
#[utoipa::path(get, path = "/api/jobs/{id}/events", tag = "jobs", params(("id" = String, Path, description = "The job")), responses(
    (status = 200, body = Vec<Event>),
    (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn events(job: Owned) -> Result<Json<Vec<Event>>, Refusal> {
    Ok(Json(job.events().await?.iter().map(view::event).collect()))
}

/// Why it is where it is, and what comes next.
#[utoipa::path(get, path = "/api/jobs/{id}/explain", tag = "jobs", params(("id" = String, Path, description = "The job")), responses(
    (status = 200, body = Explanation),
    (status = 403, description = "FORBIDDEN", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn explain(job: Owned) -> Result<Json<Explanation>, Refusal> {
    Ok(Json(explanation(&job).await?))
}

/// The story of a job in public words.
pub(crate) async fn explanation(job: &Owned) -> Result<Explanation, Refusal> {
    let story = job.explain().await?;
    let code = story.job.failure_code.or_else(|| story.past.iter().rev().find_map(|past| past.attempt.code));
    let entry = code.filter(|_| story.job.shown != Shown::Complete).map(|code| code.public().entry());
    let past = story
        .past
        .iter()
        .map(|past| Step { attempt: view::attempt(job, &past.attempt), rule: past.rule.map(str::to_owned) });
    Ok(Explanation {
        job: view::job(job).await?,
        now: if job.for_operator() { story.now.clone() } else { public_now(&story) },
        what_we_do: entry.map(|entry| entry.what_we_do.to_owned()),
        what_you_can_do: entry.map(|entry| entry.what_you_can_do.to_owned()),
        past: past.collect(),
    })
}

/// The engine's sentence names inner codes and who holds a target; its owner reads the same without them.
fn public_now(story: &redrive_engine::Explanation) -> String {
    match story.job.shown {
        Shown::Failed => {
            let code = story.job.failure_code.unwrap_or(Code::Unknown).public();
            let entry = code.entry();
            format!("Failed with {}. {} {}", code.name(), entry.what_happened, entry.what_you_can_do)
        }
        Shown::Held => "Held, without losing an attempt: what it needs lets nobody pass just now.".to_owned(),
        Shown::Queued
        | Shown::Scheduled
        | Shown::WaitingRetry
        | Shown::WaitingBatch
        | Shown::Processing
        | Shown::Complete
        | Shown::Partial
        | Shown::Cancelled => story.now.clone(),
    }
}
