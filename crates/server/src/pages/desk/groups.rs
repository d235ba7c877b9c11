//! What was given up, by its cause: the same fault in ten thousand jobs is one line.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{Group, GroupList, GroupQuery};
use redrive_model::Code;
use url::form_urlencoded::Serializer;

use super::super::layout::Place;
use super::super::words::{number, time};
use crate::app::App;
use crate::desk::groups;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// Where people are with a group, in the order in which they look for it.
const STATES: [(&str, &str); 5] = [
    ("", "All"),
    ("new", "New"),
    ("regressed", "Came back"),
    ("acknowledged", "Acknowledged"),
    ("resolved", "Resolved"),
];

/// The page, or the piece of it that is kept fresh.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let asked = groups::read(query.as_deref())?;
    let list = groups::page(&app, operator, asked.clone()).await?;
    Ok(super::fresh(&app, &headers, "Dead letters", Place::Dead, piece(&asked, &list)).await)
}

fn piece(asked: &GroupQuery, list: &GroupList) -> Markup {
    let state = asked.state.as_deref().unwrap_or_default();
    html! {
        section #groups hx-get=(address(asked, state, asked.cursor.as_deref())) hx-trigger="every 2s" hx-swap="outerMorph" {
            h1 { "Dead letters" }
            p.lead { "Jobs that were given up wait here, by cause, until somebody replays or discards them. Nothing is lost meanwhile." }
            nav.tabs aria-label="Where people are with it" {
                @for (word, text) in STATES {
                    a href=(address(asked, word, None)) aria-current=[(word == state).then_some("true")] { (text) }
                }
            }
            @if let Some(code) = asked.code.as_deref().filter(|code| !code.is_empty()) {
                p.fine { "Only " (code) ". " a href=(everything(asked, state)) { "Show every code" } }
            }
            @if list.groups.is_empty() {
                div.empty { p { @if state.is_empty() && asked.code.is_none() { "Nothing was given up." } @else { "Nothing of this kind." } } }
            } @else {
                table.plain-table.stacks {
                    thead {
                        tr {
                            th scope="col" { "What goes wrong" }
                            th scope="col" { "Where" }
                            th.num scope="col" { "Waiting" }
                            th scope="col" { "Last seen" }
                            th scope="col" { "State" }
                        }
                    }
                    tbody { @for group in &list.groups { (row(group)) } }
                }
            }
            nav.pages aria-label="More groups" {
                @if let Some(next) = &list.next_cursor { a href=(address(asked, state, Some(next))) rel="next" { "Older" } }
            }
        }
    }
}

fn row(group: &Group) -> Markup {
    html! {
        tr {
            th scope="row" {
                a href={ "/dead/" (group.fingerprint) } { (what(&group.code)) }
                " " span.fine { (group.code) }
                p.fine { bdi { (group.message) } }
            }
            td { (group.workload) @if let Some(target) = &group.target { " · " bdi { (target) } } }
            td.num data-of="Waiting" { (number(group.open)) }
            td data-of="Last seen" { (time(group.last_seen)) }
            td { (state(&group.state)) }
        }
    }
}

/// What happened, in the registry's words.
pub(super) fn what(code: &str) -> &'static str {
    Code::parse(code).map_or("Unknown", |code| code.entry().what_happened)
}

/// Where people are with it.
pub(super) fn state(word: &str) -> Markup {
    let tone = match word {
        "new" | "regressed" => "is-bad",
        "acknowledged" => "is-delayed",
        _ => "is-good",
    };
    let text = STATES.iter().find(|(name, _)| *name == word).map_or(word, |(_, text)| text);
    html! { span.toned.(tone) { (text) } }
}

/// The same without the code.
fn everything(asked: &GroupQuery, state: &str) -> String {
    address(&GroupQuery { code: None, ..asked.clone() }, state, None)
}

fn address(asked: &GroupQuery, state: &str, cursor: Option<&str>) -> String {
    let mut query = Serializer::new(String::new());
    let pairs = [
        ("state", Some(state)),
        ("workload", asked.workload.as_deref()),
        ("code", asked.code.as_deref()),
        ("cursor", cursor),
    ];
    for (name, value) in pairs {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        query if query.is_empty() => "/dead".to_owned(),
        query => format!("/dead?{query}"),
    }
}
