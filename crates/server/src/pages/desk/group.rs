//! One cause: what it is, what waits for it, and how that is started again.

use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{DiscardLetters, Group, NewReplay, ReplayFilter};
use redrive_model::fingerprint::Fingerprint;
use redrive_model::group::GroupState;
use redrive_model::{Code, Offset};
use redrive_store::{DeadFilter, DeadRow, DeadState, Matching, Page, PageRequest};
use serde::Deserialize;

use super::super::layout::{Place, Shell, exactly};
use super::super::viewer::Viewer;
use super::super::words::{count, number, time};
use super::replaying::{Typed, dialog};
use super::{Pressed, groups as words, letters, reason, why};
use crate::app::App;
use crate::desk::{bulk, discards, groups, replays};
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// So many letters are on a page.
const LETTERS: usize = 20;

fn all_of(group: &Fingerprint) -> NewReplay {
    let filter = ReplayFilter { group: Some(group.to_string()), ..ReplayFilter::default() };
    NewReplay { filter, ..NewReplay::default() }
}

type Named = Result<Path<String>, PathRejection>;

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    group: Named,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    show(&app, operator, &groups::named(group)?, query.as_deref(), &Typed::default(), None).await
}

/// Says that somebody looks at it, or that it is mended.
pub(in crate::pages) async fn change(
    State(app): State<App>,
    operator: Operator,
    group: Named,
    form: Result<Form<Pressed>, FormRejection>,
) -> Result<Response, Refusal> {
    let (group, pressed) = (groups::named(group)?, super::read(form)?);
    let to = match pressed.act.as_str() {
        "ack" => GroupState::Acknowledged,
        "resolve" => GroupState::Resolved,
        _ => return Err(super::odd()),
    };
    groups::become_of(&app, operator, &group, to, pressed.because()).await?;
    Ok(Redirect::to(&format!("/dead/{group}")).into_response())
}

/// Starts all that was counted again, and leads to how that goes.
pub(in crate::pages) async fn replay(
    State(app): State<App>,
    operator: Operator,
    group: Named,
    form: Result<Form<Typed>, FormRejection>,
) -> Result<Response, Refusal> {
    let (group, typed) = (groups::named(group)?, super::read(form)?);
    let begun = match typed.replay(all_of(&group).filter) {
        Ok(asked) => replays::begin(&app, operator, asked).await,
        Err(refusal) => Err(refusal),
    };
    match begun {
        Ok(replay) => Ok(Redirect::to(&format!("/replays/{}", replay.id)).into_response()),
        // What was typed is shown again, with what is wrong.
        Err(refusal) if refusal.problem().status < StatusCode::INTERNAL_SERVER_ERROR.as_u16() => {
            let flaw = refusal.problem().detail.clone();
            Ok(super::flawed(&refusal, show(&app, operator, &group, None, &typed, Some(&flaw)).await?))
        }
        Err(refusal) => Err(refusal),
    }
}

/// What the form that discards all says: no more than the person was told.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct Discarding {
    upto: String,
    reason: String,
}

/// Discards all that was counted, and shows what is left.
pub(in crate::pages) async fn discard(
    State(app): State<App>,
    operator: Operator,
    group: Named,
    form: Result<Form<Discarding>, FormRejection>,
) -> Result<Response, Refusal> {
    let (group, typed) = (groups::named(group)?, super::read(form)?);
    let group = groups::look(&app, operator, &group).await?.fingerprint;
    let asked = DiscardLetters {
        filter: ReplayFilter { group: Some(group.clone()), ..ReplayFilter::default() },
        upto: Some(typed.upto.parse().map_err(|_| super::odd())?),
        reason: query::given(Some(typed.reason)),
        ..DiscardLetters::default()
    };
    discards::discarded(&app, operator, asked).await?;
    Ok(Redirect::to(&format!("/dead/{group}")).into_response())
}

async fn show(
    app: &App,
    operator: Operator,
    named: &Fingerprint,
    query: Option<&str>,
    typed: &Typed,
    flaw: Option<&str>,
) -> Result<Response, Refusal> {
    let group = groups::look(app, operator, named).await?;
    let waiting = replays::count(app, operator, all_of(named)).await?;
    let letters = open(app, operator, named, query).await?;
    let what = words::what(&group.code);
    let code = Code::parse(&group.code);
    let body = html! {
        p.fine.crumb { a href="/dead" { "All causes" } }
        h1 { (what) }
        div.head {
            p.how { (words::state(&group.state)) span.fine { a href={ "/failures/" (group.code) } { (group.code) } } }
            (acts(&group))
        }
        @if let Some(code) = code { section.explain.is-bad aria-label="What it means" { (exactly(code, Some(&group.message))) } }
        dl.facts {
            div { dt { "Kind of job" } dd { (group.workload) } }
            @if let Some(target) = &group.target { div { dt { "Target" } dd { bdi { (target) } } } }
            div { dt { "Failed attempts" } dd { (number(group.failures)) } }
            div { dt { "First seen" } dd { (time(group.first_seen)) } }
            div { dt { "Last seen" } dd { (time(group.last_seen)) } }
            div { dt { "An example" } dd { a href={ "/jobs/" (group.sample_job_id) } { "The newest job" } } }
        }
        (dialog(&format!("/dead/{named}/replay"), &[], &waiting, typed, flaw))
        (discard_all(named, &waiting))
        (letters::section(named, waiting.count, &letters))
    };
    Ok(Shell::new(what, Viewer::operator(app)).at(Place::Dead).page(&body))
}

/// Asks once more, with the count. How far what was counted goes is kept unseen: what dies meanwhile stays.
fn discard_all(group: &Fingerprint, waiting: &Matching<Offset>) -> Markup {
    let Some(upto) = waiting.newest else { return html! {} };
    let (most, jobs) = (waiting.count.min(bulk::MOST), count(waiting.count.min(bulk::MOST), "job", "jobs"));
    html! {
        section #discard aria-label="Discard" {
            details.because {
                summary { "Discard all …" }
                form.add method="post" action={ "/dead/" (group) "/discard" } {
                    input type="hidden" name="upto" value=(upto.0);
                    p.fine {
                        "They leave the dead letters and are not run again by a replay."
                        @if waiting.count > most { " The oldest " (number(most)) " of " (number(waiting.count)) " are discarded at once." }
                    }
                    (reason("discard-reason", ""))
                    button { "Yes, discard " (jobs) }
                }
            }
        }
    }
}

fn acts(group: &Group) -> Markup {
    let may = |to| GroupState::parse(&group.state).is_some_and(|state| state.may_become(to));
    let button = |act: &str, word: &str| html! { button.quiet name="act" value=(act) { (word) } };
    html! {
        form.acts method="post" action={ "/dead/" (group.fingerprint) } {
            @if may(GroupState::Acknowledged) { (button("ack", "Acknowledge")) }
            @if may(GroupState::Resolved) { (button("resolve", "Mark as fixed")) }
            @if may(GroupState::Acknowledged) || may(GroupState::Resolved) { (why(&group.fingerprint)) }
        }
    }
}

async fn open(
    app: &App,
    operator: Operator,
    group: &Fingerprint,
    query: Option<&str>,
) -> Result<Page<DeadRow>, Refusal> {
    let mut cursor = None;
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "cursor" => query::once(&mut cursor, &name, &value)?,
            _ => return Err(Refusal::new(Code::ValidationUnknownField, "The query can hold cursor.")),
        }
    }
    let filter =
        DeadFilter { group: Some(group.clone()), state: Some(DeadState::Open), ..DeadFilter::default() };
    let page = PageRequest { limit: LETTERS, cursor: query::cursor::<i64>(cursor)? };
    app.desk().dead_letters(operator, filter, page).await
}
