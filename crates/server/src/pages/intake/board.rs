//! The board: queue, processing, result and failed as columns, kept fresh.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{IntakeDocument, IntakeStatus};
use redrive_store::PageRequest;
use redrive_store::intake::{DocumentFilter, Stage};

use super::super::banner::banner;
use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::{count, number, time};
use super::siblings;
use crate::app::App;
use crate::intake::documents::view;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// So many documents of a column are shown.
const SHOWN: usize = 10;
/// What lies in the queue and was not taken yet writes no event, so the board looks by itself too.
const LOOK: &str = "jobs from:#live, every 3s";

/// One column.
struct Column {
    title: &'static str,
    /// What lies there.
    words: &'static str,
    stages: &'static [Stage],
    documents: Vec<IntakeDocument>,
}

const COLUMNS: [(&str, &str, &[Stage]); 4] = [
    ("Queue", "New PDFs, and those that are tried again.", &[Stage::Waiting]),
    ("Processing", "Being converted now.", &[Stage::Processing]),
    ("Result", "Done, each with what was made of it.", &[Stage::Done]),
    ("Failed", "Given up, cancelled, or taken away.", &[Stage::Failed, Stage::Gone]),
];

/// The page, or its columns.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    viewer: Viewer,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let status = app.desk().intake_status(operator).await?;
    let mut columns = Vec::new();
    for (title, words, stages) in COLUMNS {
        let filter = DocumentFilter { stages: stages.to_vec(), ..DocumentFilter::default() };
        let page = app.desk().documents(operator, filter, PageRequest { limit: SHOWN, cursor: None }).await?;
        columns.push(Column { title, words, stages, documents: page.rows.into_iter().map(view).collect() });
    }
    let board = board(&status, &columns);
    if super::super::wants_piece(&headers) {
        return Ok(super::super::html(board));
    }
    let body = html! {
        h1 { "Intake" }
        p.lead { "PDFs that people put into " bdi { (status.root) } ", and what became of them." }
        (siblings("/intake"))
        (board)
        (settings(&status))
    };
    Ok(Shell::new("Intake", viewer).at(Place::Intake).live(banner(&app).await, "/live").page(&body))
}

fn board(status: &IntakeStatus, columns: &[Column]) -> Markup {
    html! {
        section #board hx-get="/intake" hx-trigger=(LOOK) hx-swap="outerMorph" aria-label="Documents" {
            (remarks(status))
            div.board { @for column in columns { (one(column, status)) } }
        }
    }
}

/// What holds it up, in words.
fn remarks(status: &IntakeStatus) -> Markup {
    let look = status.last_look.as_ref();
    let stopped = look.and_then(|look| look.stopped.as_ref()).filter(|_| !status.paused);
    html! {
        @if status.paused { p.remark role="status" { "Paused: nothing is taken and nothing is begun. What runs goes on." } }
        @if let Some(why) = stopped { p.remark role="status" { "Nothing new is taken: " (why) "." } }
        p.fine {
            @match look {
                None => "Nobody has looked at the queue yet. ",
                Some(look) => {
                    @if let Some(at) = look.at { "Looked at the queue " (time(at)) ". " }
                    @if look.growing > 0 { (count(look.growing, "file is", "files are")) " empty or still being copied. " }
                    @if look.ignored > 0 { (count(look.ignored, "file is", "files are")) " left alone: not called .pdf. " }
                }
            }
            @if status.open_moves > 0 { (count(status.open_moves, "move", "moves")) " between folders not finished yet. " }
            (number(status.in_flight)) " of at most " (number(status.max_in_flight)) " in work"
            @if status.waiting_retry > 0 { ", " (count(status.waiting_retry, "waits for its next try", "wait for their next try")) }
            "."
        }
    }
}

fn one(column: &Column, status: &IntakeStatus) -> Markup {
    let of = |stage: &Stage| status.documents.get(stage.as_str()).copied().unwrap_or(0);
    let known: u64 = column.stages.iter().map(of).sum();
    // What nobody has taken yet has no row.
    let queue = column.stages.contains(&Stage::Waiting);
    let lie = status.last_look.as_ref().filter(|_| queue).map_or(0, |look| look.lie);
    let rest = known.saturating_sub(column.documents.len() as u64);
    html! {
        section.column aria-label=(column.title) {
            h2 { (column.title) " " span.number { (number(known + lie)) } }
            p.fine { (column.words) }
            @if !column.documents.is_empty() { ul { @for document in &column.documents { (card(document)) } } }
            @if rest > 0 { p.fine { "And " (count(rest, "other", "others")) "." } }
            @if lie > 0 { p.fine { (count(lie, "PDF was", "PDFs were")) " not taken yet." } }
        }
    }
}

fn card(document: &IntakeDocument) -> Markup {
    html! {
        li id={ "document-" (document.id) } {
            a.name href={ "/intake/documents/" (document.id) } { bdi { (document.path) } }
            span.fine { bdi { (document.owner) } " · " (time(document.updated_at)) }
            @if let Some(failure) = document.last_failure.as_ref().filter(|_| document.stage != "done") {
                span.why {
                    (failure.code)
                    @if document.retry_count > 0 { " · " (count(u64::from(document.retry_count), "retry", "retries")) }
                }
            }
        }
    }
}

fn settings(status: &IntakeStatus) -> Markup {
    let (word, value) = if status.paused { ("Go on", "false") } else { ("Pause intake", "true") };
    html! {
        section.letter {
            h2 { "Settings" }
            p.fine { "They count at once, for all PDFs that are not done." }
            form.field method="post" action="/intake/settings" {
                label for="retries" { "How often a PDF is tried again" }
                input #retries name="max_retries" type="number" min="0" max="1000" required value=(status.max_retries);
                button.quiet { "Set" }
            }
            form method="post" action="/intake/settings" {
                input type="hidden" name="paused" value=(value);
                button.quiet { (word) }
            }
        }
    }
}
