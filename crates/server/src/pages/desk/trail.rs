//! The trail: who did what to what, with what right, why, what became of it, and what it changed.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{Act, ActList, ActQuery};
use redrive_model::limits::MAX_REACH;
use url::form_urlencoded::Serializer;

use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::{self, time_exactly};
use crate::app::App;
use crate::desk::acts;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let asked = acts::read(query.as_deref())?;
    let list = acts::page(&app, operator, asked.clone()).await?;
    let body = html! {
        h1 { "Audit" }
        p.lead { "What people did here, newest first. No line can be changed or removed." }
        (search(&asked))
        @if list.acts.is_empty() {
            div.empty { p { (nothing(&asked, &list)) } }
        } @else {
            table.plain-table.stacks.trail {
                thead {
                    tr {
                        th scope="col" { "When" } th scope="col" { "Who" } th scope="col" { "What" }
                        th scope="col" { "Why" } th scope="col" { "Outcome" }
                    }
                }
                tbody { @for act in &list.acts { (row(act)) } }
            }
        }
        nav.pages aria-label="More acts" {
            @if asked.cursor.as_deref().is_some_and(|cursor| !cursor.is_empty()) {
                a href=(address(&asked, None)) { "Newest" }
            }
            @if let Some(next) = &list.next_cursor { a href=(address(&asked, Some(next))) rel="next" { "Older" } }
        }
    };
    Ok(Shell::new("Audit", Viewer::operator(&app)).at(Place::Audit).page(&body))
}

/// The form that asks, in the words of the API.
fn search(asked: &ActQuery) -> Markup {
    let given = |value: &Option<String>| value.clone().unwrap_or_default();
    let since = given(&asked.since);
    // A link may ask for an instant: a field for days would forget its time.
    let is_day = since.is_empty() || since.len() == "2026-01-31".len();
    html! {
        form.search method="get" action="/audit" role="search" {
            label for="actor" { "Who" }
            input #actor type="text" name="actor" maxlength="255" value=(given(&asked.actor)) autocomplete="off" spellcheck="false";
            label for="action" { "What" }
            input #action type="text" name="action" maxlength="255" value=(given(&asked.action)) placeholder="target.hold" autocomplete="off" spellcheck="false" autocapitalize="none";
            label for="subject" { "To what" }
            input #subject type="text" name="subject" maxlength="255" value=(given(&asked.subject)) autocomplete="off" spellcheck="false";
            label for="since" { "Since" }
            input #since type=(if is_day { "date" } else { "text" }) name="since" value=(since);
            label for="request_id" { "Request" }
            input #request_id type="text" name="request_id" maxlength="255" value=(given(&asked.request_id)) autocomplete="off" spellcheck="false" autocapitalize="none";
            button.quiet { "Show" }
            @if address(asked, None) != "/audit" { a href="/audit" { "Show all" } }
        }
    }
}

fn nothing(asked: &ActQuery, list: &ActList) -> String {
    let looked = words::number(MAX_REACH.unsigned_abs());
    match (&list.next_cursor, address(asked, None) != "/audit") {
        (Some(_), _) => {
            format!("None of the {looked} acts that were looked at matches. There are older ones.")
        }
        (None, true) => "No act matches.".to_owned(),
        (None, false) => "Nobody did anything yet.".to_owned(),
    }
}

/// The address of the same question, from the beginning or from another place in the trail.
fn address(asked: &ActQuery, cursor: Option<&str>) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in [
        ("actor", &asked.actor),
        ("action", &asked.action),
        ("subject", &asked.subject),
        ("since", &asked.since),
        ("request_id", &asked.request_id),
        ("limit", &asked.limit),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    if let Some(cursor) = cursor {
        query.append_pair("cursor", cursor);
    }
    match query.finish() {
        text if text.is_empty() => "/audit".to_owned(),
        text => format!("/audit?{text}"),
    }
}

fn row(act: &Act) -> Markup {
    html! {
        tr {
            th scope="row" { (time_exactly(act.at)) }
            td {
                bdi { (act.actor) }
                @if let Some(scope) = &act.scope { div.fine { "scope " (scope) } }
            }
            td { code { (act.action) } " " bdi { (act.subject) } }
            td { @if let Some(reason) = &act.reason { bdi { (reason) } } }
            td {
                @match &act.outcome {
                    Some(outcome) => { bdi { (outcome) } }
                    None => { span.fine { "unknown: still going on, or the process stopped in the middle" } }
                }
                (change(act))
                @if let Some(id) = &act.request_id { div.fine { "request " code { (id) } } }
            }
        }
    }
}

/// What was changed: what was made was nothing before, what was removed is nothing after.
fn change(act: &Act) -> Markup {
    let side = |words: &Option<String>| {
        html! {
            @match words {
                Some(words) => { bdi { (words) } }
                None => { "nothing" }
            }
        }
    };
    html! {
        @if act.before.is_some() || act.after.is_some() {
            div.change { (side(&act.before)) " → " (side(&act.after)) }
        }
    }
}
