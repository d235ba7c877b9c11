//! One job as a row of the table: what it is called, how it is, and what can be done with it.

use std::borrow::Cow;

use maud::{Markup, html};
use redrive_api::Job;
use redrive_convert::Pdf;
use redrive_model::{Shown, Timestamp};

use super::remarks::{self, remarks};
use super::words::{bytes, count, countdown, time};
use super::{icon, words};
use crate::app::App;
use crate::own::Owned;
use crate::refusal::Refusal;
use crate::view;

/// A job with what only pages say about it.
pub(super) struct Line {
    pub(super) job: Job,
    pub(super) shown: Shown,
    /// What it depends on, in words.
    pub(super) waits_for: String,
    /// Why a failed job cannot be started again.
    pub(super) no_retry: Option<&'static str>,
    /// Its result was removed.
    pub(super) expired: bool,
    /// What the converter remarked.
    pub(super) remarks: Vec<Cow<'static, str>>,
    /// When this was true.
    pub(super) now: Timestamp,
}

/// Many jobs, in their order.
pub(super) async fn lines(app: &App, jobs: &[Owned], now: Timestamp) -> Result<Vec<Line>, Refusal> {
    let views = view::with_pdfs(app.desk(), jobs).await?;
    Ok(complete(app, jobs.iter().zip(views).collect(), now).await)
}

/// One job.
pub(super) async fn line(app: &App, owned: &Owned, now: Timestamp) -> Result<Line, Refusal> {
    let view = view::with_pdf(owned).await?;
    complete(app, vec![(owned, view)], now).await.pop().ok_or_else(|| owned.gone())
}

/// Adds what only pages say.
async fn complete(app: &App, views: Vec<(&Owned, (Job, Option<Pdf>))>, now: Timestamp) -> Vec<Line> {
    let could = |(owned, (job, pdf)): &(&Owned, (Job, Option<Pdf>))| {
        let key = pdf.as_ref().filter(|_| job.can_retry).and_then(|pdf| pdf.source().ok())?;
        Some((owned.id, key))
    };
    let gone = app.known_sources().gone(views.iter().filter_map(could).collect()).await;
    let line = |(owned, (job, _)): (&Owned, (Job, Option<Pdf>))| Line {
        no_retry: match owned.shown {
            Shown::Failed if !job.can_retry => {
                Some("It was refused, so nothing of it was kept. Upload another file.")
            }
            Shown::Failed if gone.contains(&owned.id) => Some("The PDF was removed. Upload it again."),
            Shown::Failed
            | Shown::Queued
            | Shown::Scheduled
            | Shown::WaitingRetry
            | Shown::WaitingBatch
            | Shown::Held
            | Shown::Processing
            | Shown::Complete
            | Shown::Partial
            | Shown::Cancelled => None,
        },
        job,
        shown: owned.shown,
        waits_for: words::waits_for(&owned.targets, owned.for_operator()),
        expired: owned.expired_at.is_some(),
        remarks: remarks(owned),
        now,
    };
    views.into_iter().map(line).collect()
}

impl Line {
    /// What people call it.
    pub(super) fn name(&self) -> &str {
        self.job.filename.as_deref().unwrap_or("unnamed")
    }

    /// The row.
    pub(super) fn row(&self) -> Markup {
        let id = &self.job.id;
        html! {
            tr #{ "job-" (id) } data-job=(id) role="row" {
                td.pick role="cell" {
                    @if self.job.can_download {
                        input type="checkbox" name="ids" value=(id) form="zip" id={ "pick-" (id) }
                            aria-label={ "Choose " (self.name()) };
                    }
                }
                td.file role="cell" {
                    a.name href={ "/jobs/" (id) } { bdi { (self.name()) } }
                    " " (self.facts())
                }
                td.how.(icon::class(self.shown)) role="cell" { (icon::state(self.shown)) " " (self.detail()) }
                td.acts role="cell" { (self.acts(true)) }
            }
        }
    }

    /// Size, mapping, time.
    pub(super) fn facts(&self) -> Markup {
        html! {
            span.fine {
                @if let Some(size) = self.job.bytes { (bytes(size)) " · " }
                @if let Some(mapping) = &self.job.mapping { bdi { (mapping) } " · " }
                (time(self.job.created_at))
            }
        }
    }

    /// The line below the state: which attempt, when the next one comes, what went wrong.
    pub(super) fn detail(&self) -> Markup {
        let job = &self.job;
        let of = job.max_attempts.map_or(String::new(), |most| format!(" of {most}"));
        html! {
            span.fine {
                @match (self.shown, job.retry_after) {
                    (Shown::WaitingRetry, Some(at)) => {
                        "attempt " (job.attempt + 1) (of) ", next try " (countdown(at, self.now))
                    }
                    (Shown::Scheduled, Some(at)) => { "first try " (countdown(at, self.now)) }
                    (Shown::Processing, _) => { "attempt " (job.attempt) (of) }
                    (Shown::Held, _) => { "waits for " (self.waits_for) "; it is not lost, and no attempt is used up" }
                    (Shown::WaitingBatch, _) => "runs on when its parts have ended",
                    (Shown::Failed, _) if job.attempt > 0 => {
                        "after " (count(u64::from(job.attempt), "attempt", "attempts"))
                    }
                    (Shown::Complete, _) if self.expired => "the XML was removed since",
                    (_, _) => {}
                }
            }
            (remarks::list(&self.remarks))
            @if let Some(failure) = job.last_failure.as_ref().filter(|_| self.tells_failure()) {
                span.why {
                    (failure.message) " "
                    a href={ "/failures/" (failure.code) } { "What to do" span.unseen { " about " (failure.code) } }
                }
            }
        }
    }

    /// What went wrong before is of no interest once it went well.
    const fn tells_failure(&self) -> bool {
        match self.shown {
            Shown::Complete | Shown::Cancelled => false,
            Shown::Queued
            | Shown::Scheduled
            | Shown::WaitingRetry
            | Shown::WaitingBatch
            | Shown::Held
            | Shown::Processing
            | Shown::Partial
            | Shown::Failed => true,
        }
    }

    /// What can be done with it: in a row, or on its page.
    pub(super) fn acts(&self, in_row: bool) -> Markup {
        let id = &self.job.id;
        let unseen = html! { span.unseen { " " (self.name()) } };
        let (target, query) = if in_row { (format!("#job-{id}"), "?row=1") } else { ("#job".to_owned(), "") };
        html! {
            @if self.job.can_download {
                a.button href={ "/api/jobs/" (id) "/download" } download { "Download" (unseen) }
            }
            @if self.shown == Shown::Failed {
                @match self.no_retry {
                    None => {
                        form method="post" action={ "/jobs/" (id) "/retry" } hx-post={ "/jobs/" (id) "/retry" (query) }
                            hx-target=(target) hx-swap="outerMorph" {
                            button #{ "retry-" (id) } { "Retry" (unseen) }
                        }
                    }
                    Some(reason) => {
                        button #{ "retry-" (id) } type="button" aria-disabled="true" aria-describedby={ "reason-" (id) } {
                            "Retry" (unseen)
                        }
                        span.fine.reason #{ "reason-" (id) } { (reason) }
                    }
                }
            }
            @if !in_row && self.job.links.cancel.is_some() {
                form method="post" action={ "/jobs/" (id) "/cancel" } hx-post={ "/jobs/" (id) "/cancel" }
                    hx-target="#job" hx-swap="outerMorph" {
                    button.quiet #{ "cancel-" (id) } { "Cancel" (unseen) }
                }
            }
        }
    }
}
