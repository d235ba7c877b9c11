//! Targets: which answer, which do not, since when, how many jobs wait, a person's hold, and what breakers did.

use std::time::Duration;

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{Because, Breaker, BreakerDetail, HoldTarget, PageQuery, TurnQuery};
use redrive_model::{Target, Timestamp, instant};
use serde::Deserialize;
use url::form_urlencoded::{self, Serializer};

use super::super::layout::Place;
use super::super::words::{count, countdown, number, time};
use super::{reason, turns, why};
use crate::app::App;
use crate::desk::breakers;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;

/// So many turns are on a page.
const TURNS: &str = "20";

/// What a form says.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct Typed {
    act: String,
    target: String,
    reason: String,
    /// For so many seconds; until it is let go where nothing is said.
    seconds: String,
}

/// How long a hold may last, as the form offers it.
const SPANS: [(&str, &str); 6] = [
    ("", "Until it is let go"),
    ("900", "15 minutes"),
    ("1800", "30 minutes"),
    ("3600", "1 hour"),
    ("14400", "4 hours"),
    ("86400", "1 day"),
];

/// When a hold ends, as the form says it.
async fn end(app: &App, typed: &Typed) -> Result<Option<Timestamp>, Refusal> {
    if typed.seconds.is_empty() {
        return Ok(None);
    }
    let known = SPANS.iter().find(|(seconds, _)| *seconds == typed.seconds).ok_or_else(super::odd)?;
    let seconds = known.0.parse().map_err(|_| super::odd())?;
    Ok(Some(instant::after(app.desk().now().await?, Duration::from_secs(seconds))))
}

/// The page, or the piece of it that is kept fresh.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (after, rest) = apart(query.as_deref())?;
    let asked = crate::desk::turns::read(Some(&rest))?;
    show(&app, operator, &headers, (after, asked), &Typed::default(), None).await
}

/// Where the list of targets begins, and the rest of the question, which is about what they did.
fn apart(query: Option<&str>) -> Result<(Option<String>, String), Refusal> {
    let (mut after, mut rest) = (None, Serializer::new(String::new()));
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "after" => query::once(&mut after, &name, &value)?,
            _ => drop(rest.append_pair(&name, &value)),
        }
    }
    Ok((after, rest.finish()))
}

/// The same page with the targets behind this one.
fn onward(here: &str, after: &str) -> String {
    let pair = Serializer::new(String::new()).append_pair("after", after).finish();
    format!("{here}{}{pair}", if here.contains('?') { '&' } else { '?' })
}

/// Holds a target or lets it go.
pub(in crate::pages) async fn change(
    State(app): State<App>,
    operator: Operator,
    headers: HeaderMap,
    form: Result<Form<Typed>, FormRejection>,
) -> Result<Response, Refusal> {
    let typed = super::read(form)?;
    let flaw = match Target::new(typed.target.trim()) {
        Ok(target) => {
            let reason = query::given(Some(typed.reason.clone()));
            match typed.act.as_str() {
                "hold" => {
                    let until = end(&app, &typed).await?;
                    breakers::held(&app, operator, target, HoldTarget { until, reason }).await?
                }
                "release" => breakers::released(&app, operator, target, Because { reason }).await?,
                _ => return Err(super::odd()),
            };
            return Ok(Redirect::to("/breakers").into_response());
        }
        Err(_) => Refusal::field("Target", "is no name of a target, such as host:example.com:443"),
    };
    let text = flaw.problem().detail.clone();
    Ok(super::flawed(&flaw, show(&app, operator, &headers, Default::default(), &typed, Some(&text)).await?))
}

async fn show(
    app: &App,
    operator: Operator,
    headers: &HeaderMap,
    (after, asked): (Option<String>, TurnQuery),
    typed: &Typed,
    flaw: Option<&str>,
) -> Result<Response, Refusal> {
    let wanted = PageQuery { limit: None, cursor: after.clone() };
    let list = breakers::page(app, operator, wanted).await?;
    let all = &list.breakers;
    let now = app.desk().now().await?;
    // A page of its own has its own number of them.
    let asked = TurnQuery { limit: asked.limit.or_else(|| Some(TURNS.to_owned())), ..asked };
    let did = crate::desk::turns::page(app, operator, asked.clone()).await?;
    let page = turns::address(asked.target.as_deref(), asked.cursor.as_deref());
    let here = after.as_deref().map_or_else(|| page.clone(), |after| onward(&page, after));
    let piece = html! {
        section #breakers hx-get=(here) hx-trigger="every 2s" hx-swap="outerMorph" {
            h1 { "Targets" }
            p.lead { "What jobs depend on. When a target does not answer, its jobs wait and are not lost. From time to time one of them tests it." }
            @if all.is_empty() {
                div.empty { p { "No target has been called yet." } }
            } @else {
                table.plain-table.stacks {
                    thead {
                        tr {
                            th scope="col" { "Target" } th scope="col" { "How it is" } th.num scope="col" { "Waiting" }
                            th.num scope="col" { "Failed calls" } th scope="col" { "Acts" }
                        }
                    }
                    tbody { @for one in all { (row(one, now)) } }
                }
            }
            nav.pages aria-label="More targets" {
                @if after.is_some() { a href=(page) { "First" } }
                @if let Some(next) = &list.next_cursor { a href=(onward(&page, next)) rel="next" { "More targets" } }
            }
            (turns::section(&asked, &did))
        }
        (form(typed, flaw))
    };
    Ok(super::fresh(app, headers, "Targets", Place::Breakers, piece).await)
}

fn row(one: &BreakerDetail, now: Timestamp) -> Markup {
    let breaker = &one.breaker;
    let free = breaker.state == "closed";
    html! {
        tr {
            th scope="row" { a href={ (turns::address(Some(&breaker.target), None)) "#turns" } { bdi { (breaker.target) } } }
            td { (how(one, now)) }
            td.num data-of="Waiting" { (waiting(breaker)) }
            td.num data-of="Failed calls" { (one.failures) " of " (one.calls) }
            td {
                form.inline method="post" action="/breakers" {
                    input type="hidden" name="target" value=(breaker.target);
                    @if one.hold.is_none() { (act("hold", "Hold", &breaker.target)) " " }
                    @if !free { (act("release", "Let go", &breaker.target)) " " }
                    (why(&breaker.target))
                }
            }
        }
    }
}

/// How many jobs wait for it, with the way to them. For room every job waits, whatever it depends on.
pub(super) fn waiting(breaker: &Breaker) -> Markup {
    let target = Serializer::new(String::new()).append_pair("target", &breaker.target).finish();
    let list = match breaker.target.as_str() {
        "disk" => "/jobs?status=queued,scheduled,waiting_retry,waiting_batch,held&members=true".to_owned(),
        // A document whose parts wait for it waits for it too.
        _ => format!("/jobs?status=held,waiting_batch&{target}"),
    };
    html! {
        @if breaker.held_jobs > 0 {
            a href=(list) aria-label={ (number(breaker.held_jobs)) " jobs that wait for " (breaker.target) } { (number(breaker.held_jobs)) }
        } @else { "0" }
    }
}

fn act(act: &str, word: &str, target: &str) -> Markup {
    html! { button.quiet name="act" value=(act) aria-label={ (word) " " (target) } { (word) } }
}

/// The state of a breaker, for people.
pub(super) fn word(state: &str) -> Markup {
    let (tone, word) = match state {
        "closed" => ("is-good", "Answers"),
        "ramp" => ("is-running", "Answers again; a few at a time"),
        "half_open" => ("is-delayed", "One job is testing it"),
        "held" => ("is-delayed", "Held by an operator"),
        "throttled" => ("is-delayed", "Asked us to wait"),
        _ => ("is-bad", "Does not answer well"),
    };
    html! { strong.toned.(tone) { (word) } }
}

fn how(one: &BreakerDetail, now: Timestamp) -> Markup {
    let breaker = &one.breaker;
    html! {
        (word(&breaker.state))
        @if let Some(at) = breaker.next_probe_at.filter(|at| *at > now) { ", next probe " (countdown(at, now)) }
        @if let Some(hold) = &one.hold {
            p.fine {
                "By " bdi { (hold.by) } ", " (time(hold.since)) @if !hold.reason.is_empty() { ": " bdi { (hold.reason) } }
                @if let Some(until) = hold.until { ". It ends " (countdown(until, now)) "." }
            }
        }
        @if let Some(since) = one.down_since {
            p.fine { "Down since " (time(since)) ", " (count(u64::from(one.failed_probes), "failed probe", "failed probes"))
                @if let Some(code) = &one.failure_code { ". Last failure: " a href={ "/failures/" (code) } { (code) } } }
        }
        @if breaker.mode == "fail_fast" { p.fine { "Until then its jobs fail at once." } }
    }
}

fn form(typed: &Typed, flaw: Option<&str>) -> Markup {
    html! {
        h2 { "Hold a target" }
        p.fine { "Before you take something down for maintenance: its jobs wait, and go on when you let it go." }
        form.add method="post" action="/breakers" {
            div { label for="target" { "Target" } input #target name="target" type="text" required maxlength="255" value=(typed.target) autocomplete="off" spellcheck="false"; }
            div {
                label for="seconds" { "For how long" }
                select #seconds name="seconds" {
                    @for (seconds, words) in SPANS { option value=(seconds) selected[seconds == typed.seconds] { (words) } }
                }
            }
            (reason("reason", &typed.reason))
            button name="act" value="hold" { "Hold" }
            @if let Some(flaw) = flaw { p.why role="alert" { "Nothing is held: " (flaw) } }
        }
    }
}
