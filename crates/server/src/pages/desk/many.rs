//! One act on all jobs that a list matches: what is meant, exactly how many that is, and then the button.

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{CancelJobs, ListQuery, NewReplay, ReplayFilter, WaitingFilter};
use redrive_model::Shown;
use redrive_store::DeadFilter;
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
    ended_since: String,
}

impl Which {
    /// From the address. A batch has acts of its own.
    fn read(query: Option<&str>) -> Result<Self, Refusal> {
        let asked =
            filter::read(query, "This page can look for workload, status, code, q, since and ended_since.")?;
        if asked.batch.is_some() {
            return Err(Refusal::field("batch", "has a page of its own"));
        }
        // Nothing here may do more than what was asked for.
        for (name, value) in [("worker", &asked.worker), ("target", &asked.target)] {
            if is_said(value) {
                return Err(Refusal::field(name, "cannot be chosen here"));
            }
        }
        let word = Option::unwrap_or_default;
        Ok(Self {
            workload: word(asked.workload),
            status: word(asked.status),
            code: word(asked.code),
            q: word(asked.q),
            since: word(asked.since),
            ended_since: word(asked.ended_since),
        })
    }

    fn pairs(&self) -> Vec<(&'static str, &str)> {
        let pairs = [
            ("workload", &self.workload),
            ("status", &self.status),
            ("code", &self.code),
            ("q", &self.q),
            ("since", &self.since),
            ("ended_since", &self.ended_since),
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
                ended_since: given(&self.ended_since),
                ..ListQuery::default()
            },
            None,
        )
    }

    fn letters(&self) -> Result<ReplayFilter, Refusal> {
        let given = |text: &String| query::given(Some(text.clone()));
        let created = query::instant("since", given(&self.since))?;
        // A failed job has ended when its letter was written.
        let ended = query::instant("ended_since", given(&self.ended_since))?;
        Ok(ReplayFilter {
            workload: given(&self.workload),
            code: given(&self.code),
            label: given(&self.q),
            created_since: created.map(|at| at.to_string()),
            since: ended.map(|at| at.to_string()),
            ..ReplayFilter::default()
        })
    }

    fn waiting(&self) -> Result<WaitingFilter, Refusal> {
        if !self.ended_since.is_empty() {
            return Err(Refusal::field("ended_since", "cannot be chosen here: what waits has not ended"));
        }
        let given = |text: &String| query::given(Some(text.clone()));
        let (workload, status) = (given(&self.workload), given(&self.status));
        Ok(WaitingFilter { workload, status, q: given(&self.q), since: given(&self.since), batch: None })
    }
}

/// A form sends empty fields too.
fn is_said(value: &Option<String>) -> bool {
    value.as_deref().is_some_and(|text| !text.is_empty())
}

/// The dead letters that a list of failed jobs means, where no more is asked than what their groups know: these are counted at once, however
/// many they are.
pub(in crate::pages) fn counted_at_once(asked: &ListQuery) -> Option<Result<DeadFilter, Refusal>> {
    let ListQuery { workload, status, code, .. } = asked.clone();
    let plain = ListQuery { workload, status, code, ..ListQuery::default() };
    let asked = ListQuery { limit: None, cursor: None, members: None, ..asked.clone() };
    let given = |name: &Option<String>| name.clone().unwrap_or_default();
    let same = address(&asked, None) == address(&plain, None);
    let filter = || {
        let (workload, code) = (query::workload(plain.workload.clone())?, query::code(plain.code.clone())?);
        Ok(DeadFilter { workload, code, ..DeadFilter::default() })
    };
    (same && means_failed(&given(&plain.status), &given(&plain.code))).then(filter)
}

fn means_failed(status: &str, code: &str) -> bool {
    !code.is_empty() || filter::states(status).is_ok_and(|states| states == [Shown::Failed])
}

/// What can be done with all that a list shows, below it, with how many that is, where it was counted.
pub(in crate::pages) fn offers(asked: &ListQuery, letters: Option<u64>) -> Markup {
    let said = |text: &Option<String>| text.clone().unwrap_or_default();
    let states = filter::states(&said(&asked.status)).unwrap_or_default();
    let failed = means_failed(&said(&asked.status), &said(&asked.code));
    let waits = |shown: &Shown| {
        matches!(
            shown,
            Shown::Queued | Shown::Scheduled | Shown::WaitingRetry | Shown::WaitingBatch | Shown::Held
        )
    };
    let waiting = !failed && !states.is_empty() && states.iter().all(waits) && !is_said(&asked.ended_since);
    // Counting may take long: where it is not done here it is what the next page does first.
    let replay = match letters {
        Some(n) => format!("Replay all {} that wait …", number(n)),
        None => "Count and replay all that match …".to_owned(),
    };
    let offer = (failed && letters != Some(0)).then_some(("replay", replay));
    let cancel = waiting.then(|| ("cancel", "Count and cancel all that match …".to_owned()));
    let narrower = asked.batch.is_some() || is_said(&asked.worker) || is_said(&asked.target);
    let list = address(&ListQuery { limit: None, members: None, ..asked.clone() }, None);
    html! {
        @if let Some((act, text)) = offer.or(cancel).filter(|_| !narrower) {
            p.many { a.button.quiet href=(list.replacen("/jobs", &format!("/jobs/{act}"), 1)) { (text) } }
        }
    }
}

/// Many are acted on of one kind only: which kinds there are, and how many match of each.
fn which_kind(app: &App, _: Operator, which: &Which, act: &str, kinds: Vec<(String, u64)>) -> Response {
    let (title, verb) = match act {
        "replay" => ("Replay all that match", "Replay"),
        _ => ("Cancel all that match", "Cancel"),
    };
    let link = |workload: &str| {
        let one = Which { workload: workload.to_owned(), ..which.clone() };
        one.list().replacen("/jobs", &format!("/jobs/{act}"), 1)
    };
    let body = html! {
        (crumb(which))
        h1 { (title) }
        p.lead { "It is done for one kind of job after the other. Nothing is done before you have seen the next page." }
        (meant(which))
        section #kinds aria-label="Kinds of job" {
            @if kinds.is_empty() { p.fine { "Nothing waits: there is nothing to " (act) "." } } @else {
                table.plain-table.stacks {
                    thead { tr { th scope="col" { "Kind of job" } th.num scope="col" { "Match" } th scope="col" { "Acts" } } }
                    tbody {
                        @for (workload, n) in &kinds {
                            tr {
                                th scope="row" { (workload) }
                                td.num data-of="Match" { (number(*n)) }
                                td { a.button.quiet href=(link(workload)) { (verb) " all " (number(*n)) " of " (workload) " …" } }
                            }
                        }
                    }
                }
            }
        }
    };
    Shell::new(title, Viewer::operator(app)).at(Place::Jobs).page(&body)
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
    if which.workload.is_empty() {
        let found = replays::of_each(app, operator, &asked).await?;
        let kinds = found.into_iter().map(|one| (one.workload, one.matching)).collect();
        return Ok(which_kind(app, operator, which, "replay", kinds));
    }
    let waiting = replays::count(app, operator, asked).await?;
    let body = html! {
        (crumb(which))
        h1 { "Replay all that match" }
        p.lead { "Jobs that were given up and wait among the dead letters. What was refused at the door, or is not wanted any more, is not among them." }
        (meant(which))
        (dialog("/jobs/replay", &which.pairs(), &waiting, typed, flaw))
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
    if which.workload.is_empty() {
        let kinds = waiting_kinds(&app, operator, &which).await?;
        return Ok(which_kind(&app, operator, &which, "cancel", kinds));
    }
    let found = bulk::count(&app, operator, which.waiting()?).await?;
    let (waiting, most) = (found.count, found.count.min(bulk::MOST));
    let body = html! {
        (crumb(&which))
        h1 { "Cancel all that match" }
        p.lead { "Jobs that wait. Running jobs are left alone, and jobs that arrive later are not included. A cancelled job cannot be brought back." }
        (meant(&which))
        section #cancel aria-label="Cancel" {
            @if waiting == 0 { p.fine { "Nothing waits: there is nothing to cancel." } } @else {
                @if waiting > most { p.fine { (number(waiting)) " match; the newest " (number(most)) " are cancelled at once." } }
                form.add method="post" action="/jobs/cancel" {
                    @for (name, value) in which.pairs() { input type="hidden" name=(name) value=(value); }
                    input type="hidden" name="most" value=(most);
                    @if let Some(upto) = found.newest { input type="hidden" name="upto" value=(upto); }
                    (reason("reason", ""))
                    button { "Cancel " (number(most)) @if most == 1 { " job" } @else { " jobs" } }
                }
            }
        }
    };
    Ok(Shell::new("Cancel all that match", Viewer::operator(&app)).at(Place::Jobs).page(&body))
}

/// The kinds of job of which something that waits matches, with how many.
async fn waiting_kinds(app: &App, operator: Operator, which: &Which) -> Result<Vec<(String, u64)>, Refusal> {
    let mut kinds = Vec::new();
    for queue in app.desk().workload_queues().await? {
        let one = Which { workload: queue.workload.to_string(), ..which.clone() };
        let found = bulk::count(app, operator, one.waiting()?).await?;
        kinds.push((one.workload, found.count));
    }
    kinds.retain(|(_, n)| *n > 0);
    Ok(kinds)
}

/// The form of a cancellation: no more than the person was told, and nothing that came since.
#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct Cancelling {
    #[serde(flatten)]
    which: Which,
    #[serde(default)]
    most: String,
    #[serde(default)]
    upto: String,
    #[serde(default)]
    reason: String,
}

/// Cancels them, and leads back to the list.
pub(in crate::pages) async fn cancel(
    State(app): State<App>,
    operator: Operator,
    form: Result<Form<Cancelling>, FormRejection>,
) -> Result<Response, Refusal> {
    let Cancelling { which, most, upto, reason } = super::read(form)?;
    let limit = most.parse().map_err(|_| super::odd())?;
    let asked = CancelJobs {
        filter: which.waiting()?,
        dry_run: false,
        upto: query::given(Some(upto)),
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
            @if !which.workload.is_empty() { div { dt { "Kind of job" } dd { (which.workload) } } }
            @if !states.is_empty() { div { dt { "State" } dd { (states.join(", ")) } } }
            @if !which.code.is_empty() { div { dt { "Code" } dd { (which.code) } } }
            @if !which.q.is_empty() { div { dt { "File name" } dd { bdi { (which.q) } } } }
            @if !which.since.is_empty() { div { dt { "Created since" } dd { (which.since) } } }
            @if !which.ended_since.is_empty() { div { dt { "Ended since" } dd { (which.ended_since) } } }
        }
    }
}
