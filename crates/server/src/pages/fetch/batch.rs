//! One batch: how far it is, what failed and when, whom it waits for, and its resources.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::FetchSnapshot;
use redrive_fetch::summary;
use redrive_model::{BatchState, Code, instant};
use url::form_urlencoded::{self, Serializer};

use super::super::banner::banner;
use super::super::layout::{Place, Shell, sentences};
use super::super::viewer::Viewer;
use super::super::words::{self, number, time, time_exactly};
use super::failures::Failures;
use super::hosts::Hosts;
use super::outcome::{Outcome, shown, state};
use super::proxies;
use super::resources::Shelf;
use crate::app::App;
use crate::jobs::filter;
use crate::own::OwnedBatch;
use crate::refusal::Refusal;

/// When the batch had ended that somebody wants to go on with: as long as it is so, its page looks again.
pub(super) const ENDED: &str = "ended";

/// The page, or the part of it that is kept fresh.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    viewer: Viewer,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    batch: OwnedBatch,
) -> Result<Response, Refusal> {
    let piece = piece(&app, &batch, query.as_deref()).await?;
    if super::super::wants_piece(&headers) {
        return Ok(super::super::html(piece));
    }
    let title = title(&batch);
    Ok(Shell::new(&title, viewer).at(Place::Fetch).live(banner(&app).await, "/live").page(&piece))
}

/// How far it is comes first: a tab shows the beginning.
fn title(batch: &OwnedBatch) -> String {
    let counts = summary(batch);
    let total = number(counts.resources_total);
    match batch.state {
        BatchState::Processing => {
            format!("{} of {total} stored · Fetch", number(counts.resources_completed))
        }
        ended => format!("{}: {total} resources", words::state(shown(ended.as_str()))),
    }
}

/// Everything about the batch.
pub(super) async fn piece(app: &App, batch: &OwnedBatch, query: Option<&str>) -> Result<Markup, Refusal> {
    let (query, awaited) = awaited(batch, query.unwrap_or_default());
    let query = filter::read(Some(&query), "This page can look for status and code.")?;
    let (asked, page) = filter::parse(query.clone())?;
    let snapshot = batch.snapshot().await?;
    let failures = Failures::of(&batch.failures().await?);
    let resources = batch.resources(asked.clone(), page).await?;
    let look = app.pulse().look(app.desk()).await?;
    let hosts = match batch.state {
        BatchState::Processing => {
            let (rows, more) = batch.under_way().await?;
            Hosts::of(&rows, more)
        }
        _ => Hosts::of(&[], false),
    };
    let address = format!("/fetch/{}", batch.id);
    let shelf = Shelf {
        address: &address,
        status: query.status.as_deref().unwrap_or_default(),
        code: asked.code,
        cursor: query.cursor.as_deref().filter(|cursor| !cursor.is_empty()),
    };
    let mut here = shelf.at(shelf.status, shelf.cursor);
    if let Some(ended) = &awaited {
        here.push_str(if here.contains('?') { "&" } else { "?" });
        here.push_str(&format!("{ENDED}={ended}"));
    }
    let live = snapshot.finished_at.is_none() || awaited.is_some();
    let outcome = Outcome::of(&snapshot);
    Ok(html! {
        article #batch hx-get=(here) hx-trigger=[live.then_some("every 2s")] hx-swap="outerMorph" data-title=(title(batch)) {
            p.fine.crumb { a href="/fetch" { "All batches" } }
            h1 { (number(snapshot.resources_total)) @if snapshot.resources_total == 1 { " resource" } @else { " resources" } }
            div.head {
                p.how { (state(&snapshot.status)) span.fine { (outcome.words()) } }
                div.acts { @if awaited.is_none() { (acts(&snapshot, &address)) } }
            }
            @if awaited.is_some() { p role="status" { "What failed starts again in a moment." } }
            (outcome.bar())
            p.fine {
                "Handed in " (time(snapshot.created_at))
                @match snapshot.finished_at {
                    Some(at) => { ", ended " (time_exactly(at)) }
                    None if !snapshot.unpacked => ", the manifest is still being unpacked",
                    None => {}
                }
                @if let Some(to) = &snapshot.to { " · to " bdi { (to) } }
                @if let Some(pool) = &snapshot.proxy_pool { " · by proxies " bdi { (pool) } }
            }
            (last_error(&snapshot))
            (failures.section(&address))
            (hosts.section(&look.breakers, look.at))
            (proxies::section(&snapshot.proxies, look.at))
            (shelf.section(&resources))
        }
    })
}

/// The query without our own word, and that word when the batch is still as it was.
fn awaited(batch: &OwnedBatch, query: &str) -> (String, Option<String>) {
    let (mut rest, mut ended) = (Serializer::new(String::new()), None);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            ENDED => ended = Some(value.into_owned()),
            name => drop(rest.append_pair(name, &value)),
        }
    }
    let now = batch.finished_at.map(|at| instant::to_millis(at).to_string());
    (rest.finish(), now.filter(|now| ended.as_ref() == Some(now)))
}

/// What can be done with it. What changes many says how many first.
fn acts(snapshot: &FetchSnapshot, address: &str) -> Markup {
    let outcome = Outcome::of(snapshot);
    let missing = snapshot.resources_total.saturating_sub(snapshot.resources_completed);
    html! {
        @if snapshot.resources_failed > 0 {
            form method="post" action={ (address) "/retry" } {
                button { "Retry " (number(snapshot.resources_failed)) " failed" }
            }
        }
        @if snapshot.finished_at.is_none() && outcome.left() > 0 {
            form method="post" action={ (address) "/cancel" } {
                button.quiet {
                    "Cancel " (number(outcome.left())) @if outcome.left() == 1 { " that is not done" } @else { " that are not done" }
                }
            }
        }
        @if missing > 0 {
            a.button.quiet href={ "/api/fetch/" (snapshot.job_id) "/missing" } download {
                "Manifest of the " (number(missing)) " missing"
            }
        }
    }
}

/// The newest failure, with what to do about its kind.
fn last_error(snapshot: &FetchSnapshot) -> Markup {
    let Some(error) = &snapshot.last_error else { return html! {} };
    let Some(code) = Code::parse(&error.code) else { return html! {} };
    html! {
        section.explain.is-bad aria-label="The newest failure" {
            (sentences(code, Some(&error.message)))
            p.fine { "The newest failure, " (time_exactly(error.at)) ": " a href={ "/failures/" (error.code) } { (error.code) } }
        }
    }
}
