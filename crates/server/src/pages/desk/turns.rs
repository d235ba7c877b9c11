//! What breakers did, newest first: when, which, what, why and by whom.

use maud::{Markup, html};
use redrive_api::{BreakerTurn, TurnList, TurnQuery};
use redrive_model::breaker::Deed;
use redrive_model::{Code, Timestamp};
use url::form_urlencoded::Serializer;

use super::super::words::{time, time_exactly};

/// The list, of one target or of all.
pub(super) fn section(asked: &TurnQuery, list: &TurnList) -> Markup {
    let one = asked.target.as_deref().filter(|target| !target.is_empty());
    html! {
        section #turns aria-label="What they did" {
            h2 { "What they did" }
            @if let Some(target) = one {
                p.fine { "Only " bdi { (target) } ". " a href="/breakers#turns" { "Show all targets" } }
            }
            @if list.turns.is_empty() { p.fine { "Nothing yet. The last fifty turns of each target are kept, for a week." } } @else {
                table.plain-table.stacks {
                    thead {
                        tr {
                            th scope="col" { "When" } th scope="col" { "Target" } th scope="col" { "What it did" }
                            th scope="col" { "Why" }
                        }
                    }
                    tbody { @for turn in &list.turns { (row(turn)) } }
                }
            }
            nav.pages aria-label="Older turns" {
                @if asked.cursor.as_deref().is_some_and(|cursor| !cursor.is_empty()) {
                    a href=(address(one, None)) { "Newest" }
                }
                @if let Some(next) = &list.next_cursor { a href=(address(one, Some(next))) rel="next" { "Older" } }
            }
        }
    }
}

/// The address of the page with these turns.
pub(super) fn address(target: Option<&str>, cursor: Option<&str>) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in [("target", target), ("cursor", cursor)] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        query if query.is_empty() => "/breakers".to_owned(),
        query => format!("/breakers?{query}"),
    }
}

fn row(turn: &BreakerTurn) -> Markup {
    html! {
        tr {
            td { (time_exactly(turn.at)) }
            th scope="row" { a href={ (address(Some(&turn.target), None)) "#turns" } { bdi { (turn.target) } } }
            td { (what(&turn.what)) @if let Some(by) = &turn.by { " by " bdi { (by) } } }
            td { @if let Some(why) = &turn.why { (because(why)) } }
        }
    }
}

fn what(word: &str) -> Markup {
    let (tone, words) = match Deed::parse(word) {
        Some(Deed::Opened) => ("is-bad", "Opened: its jobs wait"),
        Some(Deed::Probed) => ("is-running", "Tested with one job"),
        Some(Deed::Reopened) => ("is-bad", "Still failing: its jobs keep waiting"),
        Some(Deed::Answered) => ("is-running", "Answered: a few jobs at a time"),
        Some(Deed::Closed) => ("is-good", "Closed: all jobs again"),
        Some(Deed::Throttled) => ("is-delayed", "Asked us to wait"),
        Some(Deed::Held) => ("is-delayed", "Held"),
        Some(Deed::Released) => ("is-good", "Let go"),
        None => ("is-off", word),
    };
    html! { strong.toned.(tone) { (words) } }
}

/// A code in the registry's words, an instant as people read it, or what a person wrote.
fn because(why: &str) -> Markup {
    if let Some(code) = Code::parse(why) {
        return html! { a href={ "/failures/" (code.public().name()) } { (code.public().entry().what_happened) } " " span.fine { (why) } };
    }
    match why.parse::<Timestamp>() {
        Ok(until) => html! { "until " (time(until)) },
        Err(_) => html! { bdi { (why) } },
    }
}
