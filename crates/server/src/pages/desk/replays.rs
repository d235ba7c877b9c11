//! Replays: how far each is, and what can be done with one that goes on.

use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{Replay, ReplayQuery};
use url::form_urlencoded::Serializer;

use super::super::layout::Place;
use super::super::words::{number, time, time_exactly};
use super::{Pressed, groups, why};
use crate::app::App;
use crate::desk::replays::{self, Turn};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The bar is so many units wide.
const WIDTH: u64 = 1_000;

/// A page of them, newest first.
pub(in crate::pages) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let asked = replays::read(query.as_deref())?;
    let list = replays::page(&app, operator, asked.clone()).await?;
    let (all, here) = (&list.replays, address(&asked, asked.cursor.as_deref()));
    let piece = html! {
        section #replays hx-get=(here) hx-trigger="every 2s" hx-swap="outerMorph" {
            h1 { "Replays" }
            p.lead { "Dead letters that are started again under supervision: a few first, then the rest." }
            @if all.is_empty() {
                div.empty { p { "There was none yet. One is started from a cause among the " a href="/dead" { "dead letters" } "." } }
            } @else {
                table.plain-table.stacks {
                    thead { tr { th scope="col" { "Which" } th scope="col" { "How far" } th scope="col" { "Started" } } }
                    tbody { @for replay in all { (row(replay)) } }
                }
            }
            nav.pages aria-label="More replays" {
                @if let Some(next) = &list.next_cursor { a href=(address(&asked, Some(next))) rel="next" { "Older" } }
            }
        }
    };
    Ok(super::fresh(&app, &headers, "Replays", Place::Replays, piece).await)
}

fn address(asked: &ReplayQuery, cursor: Option<&str>) -> String {
    let mut query = Serializer::new(String::new());
    let pairs =
        [("workload", asked.workload.as_deref()), ("limit", asked.limit.as_deref()), ("cursor", cursor)];
    for (name, value) in pairs {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        query if query.is_empty() => "/replays".to_owned(),
        query => format!("/replays?{query}"),
    }
}

fn row(replay: &Replay) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ "/replays/" (replay.id) } { (title(replay)) } }
            td { (phase(replay)) " " span.fine { (counts(replay)) } (bar(replay)) }
            td data-of="Started" { (time(replay.started_at)) " " span.fine { "by " bdi { (replay.by) } } }
        }
    }
}

type Named = Result<Path<String>, PathRejection>;

/// One of them, or the piece of its page that is kept fresh.
pub(in crate::pages) async fn one(
    State(app): State<App>,
    operator: Operator,
    id: Named,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let replay = replays::look(&app, operator, replays::named(id)?).await?;
    let title = title(&replay);
    let live = replay.finished_at.is_none().then_some("every 1s");
    let skipped = &replay.skipped;
    let piece = html! {
        article #replay hx-get={ "/replays/" (replay.id) } hx-trigger=[live] hx-swap="outerMorph" {
            p.fine.crumb { a href="/replays" { "All replays" } }
            h1 { (title) }
            div.head {
                p.how { (phase(&replay)) span.fine { (counts(&replay)) } }
                (acts(&replay))
            }
            (bar(&replay))
            p { (meaning(&replay)) }
            dl.facts {
                div { dt { "Matched" } dd { (number(replay.total)) } }
                div { dt { "Going on" } dd { (number(replay.live)) } }
                div { dt { "Complete" } dd { (number(replay.complete)) } }
                div { dt { "Failed again" } dd { (number(replay.failed)) } }
                @if replay.cancelled > 0 { div { dt { "Cancelled" } dd { (number(replay.cancelled)) } } }
                @for (n, why) in [(skipped.duplicate, "Done by another job"), (skipped.gone, "Source is gone"), (skipped.changed, "Acted on by others")] {
                    @if n > 0 { div { dt { (why) } dd { (number(n)) } } }
                }
                @if replay.left > 0 { div { dt { @if live.is_some() { "To come" } @else { "Not started" } } dd { (number(replay.left)) } } }
                div { dt { "Tried first" } dd { (number(u64::from(replay.canary))) } }
                div { dt { "Then per second" } dd { (replay.rate_per_sec) } }
                div { dt { "Stops at" } dd { (format!("{:.0}", replay.stop_at_failure_share * 100.0)) " % that fail again" } }
                div { dt { "Started" } dd { (time_exactly(replay.started_at)) " by " bdi { (replay.by) } } }
                @if let Some(at) = replay.finished_at { div { dt { "Ended" } dd { (time_exactly(at)) } } }
                @if let Some(reason) = &replay.reason { div { dt { "Reason" } dd { bdi { (reason) } } } }
                @if let Some(group) = &replay.filter.group { div { dt { "Cause" } dd { a href={ "/dead/" (group) } { "What was wrong" } } } }
            }
        }
    };
    Ok(super::fresh(&app, &headers, &title, Place::Replays, piece).await)
}

/// Pauses, goes on or ends.
pub(in crate::pages) async fn change(
    State(app): State<App>,
    operator: Operator,
    id: Named,
    form: Result<Form<Pressed>, FormRejection>,
) -> Result<Response, Refusal> {
    let (id, pressed) = (replays::named(id)?, super::read(form)?);
    let turn = match pressed.act.as_str() {
        "pause" => Turn::Pause,
        "resume" => Turn::Resume,
        "cancel" => Turn::Cancel,
        _ => return Err(super::odd()),
    };
    replays::change(&app, operator, id, turn, pressed.because()).await?;
    Ok(Redirect::to(&format!("/replays/{id}")).into_response())
}

fn acts(replay: &Replay) -> Markup {
    let button = |act: &str, word: &str| html! { button.quiet name="act" value=(act) { (word) } };
    let pausing = if replay.paused { ("resume", "Go on") } else { ("pause", "Pause") };
    html! {
        @if replay.finished_at.is_none() {
            form.acts method="post" action={ "/replays/" (replay.id) } {
                (button(pausing.0, pausing.1)) (button("cancel", "End it")) (why(&replay.id))
            }
        }
    }
}

fn title(replay: &Replay) -> String {
    match (&replay.name, &replay.filter.code) {
        (Some(name), _) => name.clone(),
        (None, Some(code)) => format!("{} of {}", groups::what(code), replay.workload),
        (None, None) => format!("Replay of {}", replay.workload),
    }
}

fn phase(replay: &Replay) -> Markup {
    let (tone, word) = match (replay.phase.as_str(), replay.paused) {
        ("canary" | "running" | "finishing", true) => ("is-delayed", "Paused"),
        ("canary", _) => ("is-running", "Trying a few"),
        ("running", _) => ("is-running", "Running"),
        ("finishing", _) => ("is-running", "Finishing"),
        ("done", _) => ("is-good", "Done"),
        ("stopped", _) => ("is-bad", "Stopped: too many failed again"),
        _ => ("is-off", "Ended by an operator"),
    };
    html! { strong.toned.(tone) { (word) } }
}

/// What becomes of the rest.
fn meaning(replay: &Replay) -> &'static str {
    match (replay.phase.as_str(), replay.paused) {
        ("canary" | "running" | "finishing", true) => {
            "No further job is started until it goes on. What was started goes on."
        }
        ("canary", _) => "The first few are tried. When they have ended well the rest follows.",
        ("running", _) => "The first few went well; the rest follows.",
        ("finishing", _) => "All are started. Some have not ended yet.",
        ("done", _) => "All have ended. What failed again is among the dead letters.",
        _ => "What was not started stays among the dead letters.",
    }
}

fn counts(replay: &Replay) -> Markup {
    html! {
        (number(replay.complete)) " of " (number(replay.total)) " complete"
        @if replay.failed > 0 { ", " strong.is-bad.toned { (number(replay.failed)) " failed again" } }
    }
}

fn bar(replay: &Replay) -> Markup {
    let share = |n: u64| n.saturating_mul(WIDTH).checked_div(replay.total).unwrap_or(0).min(WIDTH);
    let (good, bad, running) = (share(replay.complete), share(replay.failed), share(replay.live));
    html! {
        svg.bar viewBox={ "0 0 " (WIDTH) " 10" } preserveAspectRatio="none" aria-hidden="true" {
            rect.track x="0" y="0" width=(WIDTH) height="10" {}
            rect.good x="0" y="0" width=(good) height="10" {}
            rect.bad x=(good) y="0" width=(bad) height="10" {}
            rect.running x=(good + bad) y="0" width=(running) height="10" {}
        }
    }
}
