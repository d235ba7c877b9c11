//! Targets: which answer, which do not, since when, how many jobs wait, a person's hold, and what breakers did.

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{Because, BreakerDetail, HoldTarget, TurnQuery};
use redrive_model::{Target, Timestamp};
use serde::Deserialize;

use super::super::layout::Place;
use super::super::words::{count, countdown, number, time};
use super::{reason, turns};
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
}

/// The page, or the piece of it that is kept fresh.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let asked = crate::desk::turns::read(query.as_deref())?;
    show(&app, operator, &headers, asked, &Typed::default(), None).await
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
                "hold" => breakers::held(&app, operator, target, HoldTarget { until: None, reason }).await?,
                "release" => breakers::released(&app, operator, target, Because { reason }).await?,
                _ => return Err(super::odd()),
            };
            return Ok(Redirect::to("/breakers").into_response());
        }
        Err(_) => Refusal::field("Target", "is no name of a target, such as host:example.com:443"),
    };
    let text = flaw.problem().detail.clone();
    Ok(super::flawed(&flaw, show(&app, operator, &headers, TurnQuery::default(), &typed, Some(&text)).await?))
}

async fn show(
    app: &App,
    operator: Operator,
    headers: &HeaderMap,
    asked: TurnQuery,
    typed: &Typed,
    flaw: Option<&str>,
) -> Result<Response, Refusal> {
    let all = breakers::all(app, operator).await?;
    let now = app.desk().now().await?;
    // A page of its own has its own number of them.
    let asked = TurnQuery { limit: asked.limit.or_else(|| Some(TURNS.to_owned())), ..asked };
    let did = crate::desk::turns::page(app, operator, asked.clone()).await?;
    let here = turns::address(asked.target.as_deref(), asked.cursor.as_deref());
    let piece = html! {
        section #breakers hx-get=(here) hx-trigger="every 2s" hx-swap="outerMorph" {
            h1 { "Targets" }
            p.lead { "What jobs depend on. When one does not answer, its jobs wait and lose nothing, and one of them looks from time to time." }
            @if all.is_empty() {
                div.empty { p { "Nothing was called yet." } }
            } @else {
                table.plain-table.stacks {
                    thead {
                        tr {
                            th scope="col" { "Target" } th scope="col" { "How it is" } th.num scope="col" { "Waiting" }
                            th.num scope="col" { "Failed calls" } th scope="col" { "Acts" }
                        }
                    }
                    tbody { @for one in &all { (row(one, now)) } }
                }
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
            td.num data-of="Waiting" { (number(breaker.held_jobs)) }
            td.num data-of="Failed calls" { (one.failures) " of " (one.calls) }
            td {
                form.inline method="post" action="/breakers" {
                    input type="hidden" name="target" value=(breaker.target);
                    @if one.hold.is_none() { (act("hold", "Hold", &breaker.target)) " " }
                    @if !free { (act("release", "Let go", &breaker.target)) }
                }
            }
        }
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
        "half_open" => ("is-delayed", "One job looks now"),
        "held" => ("is-delayed", "Held by a person"),
        "throttled" => ("is-delayed", "Asked us to wait"),
        _ => ("is-bad", "Does not answer well"),
    };
    html! { strong.toned.(tone) { (word) } }
}

fn how(one: &BreakerDetail, now: Timestamp) -> Markup {
    let breaker = &one.breaker;
    html! {
        (word(&breaker.state))
        @if let Some(at) = breaker.next_probe_at.filter(|at| *at > now) { ", next look " (countdown(at, now)) }
        @if let Some(hold) = &one.hold {
            p.fine { "By " bdi { (hold.by) } ", " (time(hold.since)) @if !hold.reason.is_empty() { ": " bdi { (hold.reason) } } }
        }
        @if let Some(since) = one.down_since {
            p.fine { "Down since " (time(since)) ", " (count(u64::from(one.failed_probes), "look", "looks")) " in vain" }
        }
        @if breaker.mode == "fail_fast" { p.fine { "Its jobs fail at once meanwhile." } }
    }
}

fn form(typed: &Typed, flaw: Option<&str>) -> Markup {
    html! {
        h2 { "Hold a target" }
        p.fine { "Before you take something down for maintenance: its jobs wait, and go on when you let it go." }
        form.add method="post" action="/breakers" {
            div { label for="target" { "Target" } input #target name="target" type="text" required maxlength="255" value=(typed.target) autocomplete="off" spellcheck="false"; }
            (reason("reason", &typed.reason))
            button name="act" value="hold" { "Hold" }
            @if let Some(flaw) = flaw { p.why role="alert" { "Nothing is held: " (flaw) } }
        }
    }
}
