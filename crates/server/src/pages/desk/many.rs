//! One act on all jobs that a list matches: what is meant, exactly how many that is, and then the button.

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{CancelJobs, ListQuery, NewReplay, ReplayFilter, WaitingFilter};
use redrive_model::{Code, Shown};
use serde::Deserialize;

use super::super::jobs::address;
use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::{self, number};
use super::reason;
use super::replaying::{Typed, dialog};
use crate::app::App;
use crate::desk::{bulk, replays};
use crate::jobs::filter;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// Which jobs, as the list was asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct Which {
    workload: String,
    status: String,
    code: String,
    q: String,
    since: String,
}

impl Which {
    /// From the address. A batch has acts of its own.
    fn read(query: Option<&str>) -> Result<Self, Refusal> {
        let asked = filter::read(query, "This page can look for workload, status, code, q and since.")?;
        if asked.batch.is_some() {
            return Err(Refusal::field("batch", "has a page of its own"));
        }
        let word = Option::unwrap_or_default;
        Ok(Self {
            workload: word(asked.workload),
            status: word(asked.status),
            code: word(asked.code),
            q: word(asked.q),
            since: word(asked.since),
        })
    }

    fn pairs(&self) -> Vec<(&'static str, &str)> {
        let pairs = [
            ("workload", &self.workload),
            ("status", &self.status),
            ("code", &self.code),
            ("q", &self.q),
            ("since", &self.since),
        ];
        pairs
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, value.as_str()))
            .collect()
    }

    /// The list that is meant.
    fn list(&self) -> String {
        let given = |text: &String| query::given(Some(text.clone()));
        let (workload, status, code) = (given(&self.workload), given(&self.status), given(&self.code));
        address(
            &ListQuery {
                workload,
                status,
                code,
                q: given(&self.q),
                since: given(&self.since),
                ..ListQuery::default()
            },
            None,
        )
    }

    fn letters(&self) -> Result<ReplayFilter, Refusal> {
        if self.workload.is_empty() {
            return Err(one_kind());
        }
        let given = |text: &String| query::given(Some(text.clone()));
        let since = query::day_or_instant("since", given(&self.since))?;
        Ok(ReplayFilter {
            workload: given(&self.workload),
            code: given(&self.code),
            label: given(&self.q),
            created_since: since.map(|at| at.to_string()),
            ..ReplayFilter::default()
        })
    }

    fn waiting(&self) -> Result<WaitingFilter, Refusal> {
        if self.workload.is_empty() {
            return Err(one_kind());
        }
        let given = |text: &String| query::given(Some(text.clone()));
        let (workload, status) = (given(&self.workload), given(&self.status));
        Ok(WaitingFilter { workload, status, q: given(&self.q), since: given(&self.since), batch: None })
    }
}

fn one_kind() -> Refusal {
    Refusal::new(
        Code::ValidationFilterRequired,
        "Choose a kind of job first: many are acted on of one kind only.",
    )
}

/// What can be done with all that a list shows, below it.
pub(in crate::pages) fn offers(asked: &ListQuery) -> Markup {
    let states = filter::states(asked.status.as_deref().unwrap_or_default()).unwrap_or_default();
    let failed = asked.code.as_deref().is_some_and(|code| !code.is_empty()) || states == [Shown::Failed];
    let waits = |shown: &Shown| {
        matches!(
            shown,
            Shown::Queued | Shown::Scheduled | Shown::WaitingRetry | Shown::WaitingBatch | Shown::Held
        )
    };
    let waiting = !failed && !states.is_empty() && states.iter().all(waits);
    let offer = if failed { Some(("replay", "Replay all that match …")) } else { None };
    let offer = if waiting { Some(("cancel", "Cancel all that match …")) } else { offer };
    let of_one_kind = asked.workload.as_deref().is_some_and(|name| !name.is_empty());
    let list = address(&ListQuery { limit: None, members: None, ..asked.clone() }, None);
    html! {
        @if let Some((act, text)) = offer.filter(|_| asked.batch.is_none()) {
            p.many {
                @if of_one_kind {
                    a.button.quiet href=(list.replacen("/jobs", &format!("/jobs/{act}"), 1)) { (text) }
                } @else {
                    span.fine { "Choose a kind of job above, and you can " (act) " all that match." }
                }
            }
        }
    }
}

/// How many failed jobs match, and the form that starts them again.
pub(in crate::pages) async fn ask_replay(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    show_replay(&app, operator, &Which::read(query.as_deref())?, &Typed::default(), None).await
}

/// What the form of a replay says, and of which jobs.
#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct Replaying {
    #[serde(flatten)]
    which: Which,
    #[serde(flatten)]
    typed: Typed,
}

/// Starts them again, and leads to how that goes.
pub(in crate::pages) async fn replay(
    State(app): State<App>,
    operator: Operator,
    form: Result<Form<Replaying>, FormRejection>,
) -> Result<Response, Refusal> {
    let Replaying { which, typed } = super::read(form)?;
    let begun = match typed.replay(which.letters()?) {
        Ok(asked) => replays::begin(&app, operator, asked).await,
        Err(refusal) => Err(refusal),
    };
    match begun {
        Ok(replay) => Ok(Redirect::to(&format!("/replays/{}", replay.id)).into_response()),
        // What was typed is shown again, with what is wrong.
        Err(refusal) if refusal.problem().status < StatusCode::INTERNAL_SERVER_ERROR.as_u16() => {
            let flaw = refusal.problem().detail.clone();
            Ok(super::flawed(&refusal, show_replay(&app, operator, &which, &typed, Some(&flaw)).await?))
        }
        Err(refusal) => Err(refusal),
    }
}

async fn show_replay(
    app: &App,
    operator: Operator,
    which: &Which,
    typed: &Typed,
    flaw: Option<&str>,
) -> Result<Response, Refusal> {
    let asked = NewReplay { filter: which.letters()?, ..NewReplay::default() };
    let waiting = replays::count(app, operator, asked).await?;
    let body = html! {
        (crumb(which))
        h1 { "Replay all that match" }
        p.lead { "Jobs that were given up and wait among the dead letters. What was refused at the door, or is not wanted any more, is not among them." }
        (meant(which))
        (dialog("/jobs/replay", &which.pairs(), waiting, typed, flaw))
    };
    Ok(Shell::new("Replay all that match", Viewer::operator(app)).at(Place::Jobs).page(&body))
}

/// How many waiting jobs match, and the button that cancels them.
pub(in crate::pages) async fn ask_cancel(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let which = Which::read(query.as_deref())?;
    let waiting = bulk::count(&app, operator, which.waiting()?).await?;
    let most = waiting.min(bulk::MOST);
    let body = html! {
        (crumb(&which))
        h1 { "Cancel all that match" }
        p.lead { "Jobs that wait. What runs is left alone, and what comes after you pressed the button is not meant. A cancelled job does not come back." }
        (meant(&which))
        section #cancel aria-label="Cancel" {
            @if waiting == 0 { p.fine { "Nothing waits: there is nothing to cancel." } } @else {
                @if waiting > most { p.fine { (number(waiting)) " match; the newest " (number(most)) " are cancelled at once." } }
                form.add method="post" action="/jobs/cancel" {
                    @for (name, value) in which.pairs() { input type="hidden" name=(name) value=(value); }
                    input type="hidden" name="most" value=(most);
                    (reason("reason", ""))
                    button { "Cancel " (number(most)) @if most == 1 { " job" } @else { " jobs" } }
                }
            }
        }
    };
    Ok(Shell::new("Cancel all that match", Viewer::operator(&app)).at(Place::Jobs).page(&body))
}

/// The form of a cancellation: no more than the person was told.
#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct Cancelling {
    #[serde(flatten)]
    which: Which,
    #[serde(default)]
    most: String,
    #[serde(default)]
    reason: String,
}

/// Cancels them, and leads back to the list.
pub(in crate::pages) async fn cancel(
    State(app): State<App>,
    operator: Operator,
    form: Result<Form<Cancelling>, FormRejection>,
) -> Result<Response, Refusal> {
    let Cancelling { which, most, reason } = super::read(form)?;
    let limit = most.parse().map_err(|_| super::odd())?;
    let asked = CancelJobs {
        filter: which.waiting()?,
        dry_run: false,
        limit: Some(limit),
        reason: query::given(Some(reason)),
    };
    bulk::cancelled(&app, operator, asked).await?;
    Ok(Redirect::to(&which.list()).into_response())
}

fn crumb(which: &Which) -> Markup {
    html! { p.fine.crumb { a href=(which.list()) { "The list" } } }
}

/// Which jobs are meant, in words.
fn meant(which: &Which) -> Markup {
    let states = filter::states(&which.status).unwrap_or_default();
    let states: Vec<_> = states.into_iter().map(words::state).collect();
    html! {
        dl.facts {
            div { dt { "Kind of job" } dd { (which.workload) } }
            @if !states.is_empty() { div { dt { "State" } dd { (states.join(", ")) } } }
            @if !which.code.is_empty() { div { dt { "Code" } dd { (which.code) } } }
            @if !which.q.is_empty() { div { dt { "File name" } dd { bdi { (which.q) } } } }
            @if !which.since.is_empty() { div { dt { "Created since" } dd { (which.since) } } }
        }
    }
}
