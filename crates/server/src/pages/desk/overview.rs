//! Everything at a glance: first whether something is wrong, then numbers, then charts, each with its table and the lists behind it.

use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{Overview, Trouble};

use super::super::layout::Place;
use super::super::words::{count, number, span};
use super::panels;
use crate::app::App;
use crate::desk::overview::{self, Window};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The page, or the piece of it that is kept fresh.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let window = overview::read(query.as_deref())?;
    let all = overview::look(&app, operator, window).await?;
    Ok(super::fresh(&app, &headers, &title(&all), Place::Overview, piece(&all, window)).await)
}

/// How everything is, for the tab.
fn title(all: &Overview) -> String {
    match all.troubles.iter().filter(|trouble| trouble.urgent).count() {
        0 => "Overview".to_owned(),
        n => format!("{n} wrong · Overview"),
    }
}

/// The address of the same page with another window.
fn address(window: Window) -> String {
    match window {
        Window::Hour => "/overview".to_owned(),
        Window::SixHours | Window::Day => format!("/overview?window={}", window.as_str()),
    }
}

fn piece(all: &Overview, window: Window) -> Markup {
    html! {
        section #overview hx-get=(address(window)) hx-trigger="every 2s" hx-swap="outerMorph" data-title=(title(all)) {
            h1 { "Overview" }
            (verdict(&all.troubles))
            (tiles(all))
            nav.tabs aria-label="How far to look back" {
                @for (one, text) in Window::ALL.into_iter().zip(["Last hour", "Last 6 hours", "Last 24 hours"]) {
                    a href=(address(one)) aria-current=[(one == window).then_some("true")] { (text) }
                }
            }
            div.panels {
                div { (panels::throughput(all)) (panels::failures(all)) (panels::targets(all)) }
                div { (panels::latency(all)) (panels::depth(all)) (panels::workers(all)) }
            }
        }
    }
}

/// One sentence: all is well, or what is wrong. It is said aloud when it changes.
fn verdict(troubles: &[Trouble]) -> Markup {
    let urgent = troubles.iter().filter(|trouble| trouble.urgent).count();
    let (tone, words) = match (urgent, troubles.len()) {
        (0, 0) => ("is-good", "All is well.".to_owned()),
        (0, _) => ("is-delayed", "Nothing is broken, but you should know:".to_owned()),
        (1, _) => ("is-bad", "Something is wrong:".to_owned()),
        (n, _) => ("is-bad", format!("{n} things are wrong:")),
    };
    html! {
        div.verdict.(tone) role="status" {
            p { strong.toned { (words) } }
            @if !troubles.is_empty() {
                ul {
                    @for trouble in troubles {
                        li.(if trouble.urgent { "is-bad" } else { "is-delayed" }) { a href=(trouble.href) { (trouble.text) } }
                    }
                }
            }
        }
    }
}

/// The numbers that people look for first.
fn tiles(all: &Overview) -> Markup {
    let of = |pick: fn(&redrive_api::WorkloadDepth) -> u64| all.queues.iter().map(pick).sum::<u64>();
    let waiting =
        of(|queue| queue.queued + queue.waiting_retry + queue.scheduled + queue.waiting_batch + queue.held);
    let oldest = all.queues.iter().filter_map(|queue| queue.oldest_age_ms).max();
    let sum = |pick: fn(&redrive_api::OverviewSlot) -> u64| all.slots.iter().map(pick).sum::<u64>();
    let (complete, failed) = (sum(|slot| slot.complete), sum(|slot| slot.failed));
    let more = if all.queues.iter().any(|queue| queue.capped) { "more than " } else { "" };
    let old = oldest.map_or_else(|| "–".to_owned(), |ms| span(Duration::from_millis(ms)));
    let tile = |href: &str, value: &str, name: &str, note: &str| {
        html! {
            li { a href=(href) { strong { (value) } span { (name) } @if !note.is_empty() { span.fine { (note) } } } }
        }
    };
    html! {
        ul.tiles aria-label="Numbers" {
            (tile(&panels::jobs("queued,waiting_retry,scheduled,waiting_batch,held", None), &number(waiting), "waiting", more))
            (tile(&panels::jobs("processing", None), &number(of(|queue| queue.processing)), "running", ""))
            (tile(&panels::jobs("queued", None), &old, "oldest ready to run", ""))
            (tile(&panels::ended("complete", None, None, all), &number(complete), "complete", &format!("in {}", all.window)))
            (tile(&panels::ended("failed", None, None, all), &number(failed), "given up", &format!("in {}", all.window)))
            (tile("/dead", &number(all.dead_letters), "dead letters wait", ""))
            (tile("/workers", &number(all.workers.alive), if all.workers.alive == 1 { "worker" } else { "workers" }, &drained(all)))
        }
    }
}

fn drained(all: &Overview) -> String {
    match all.workers.draining {
        0 => String::new(),
        n => count(n, "draining", "draining"),
    }
}
