//! What failed: every failed run of a document, found by owner, code, time and text.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use redrive_api::{FailureRecord, RecordQuery};
use redrive_model::failure::REGISTRY;
use url::form_urlencoded;

use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::time;
use super::siblings;
use crate::app::App;
use crate::intake::records::{parse, read, view};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// How long a day is in letters.
const DAY: usize = 10;

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    viewer: Viewer,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let asked = read(query.as_deref())?;
    let (filter, page) = parse(RecordQuery {
        since: day(asked.since.clone(), 0)?,
        until: day(asked.until.clone(), 1)?,
        ..asked.clone()
    })?;
    let page = app.desk().failure_records(operator, filter, page).await?;
    let records: Vec<FailureRecord> = page.rows.iter().map(view).collect();
    let body = html! {
        h1 { "Failures" }
        p.lead { "Every run of a PDF that failed, newest first. A PDF that is tried again can be here several times." }
        (siblings("/failure-records"))
        (form(&asked))
        @if records.is_empty() {
            div.empty { p { "Nothing failed that matches." } }
        } @else {
            (table(&records, true))
        }
        nav.pages aria-label="More failures" {
            @if let Some(next) = &page.next { a href={ "/failure-records?" (older(&asked, next)) } rel="next" { "Older" } }
        }
    };
    Ok(Shell::new("Failures", viewer).at(Place::Intake).page(&body))
}

/// A day as the form has it is the instant at which it begins, or at which the day after begins. What is an instant already stays.
fn day(value: Option<String>, later: i64) -> Result<Option<String>, Refusal> {
    let Some(text) = value.filter(|text| !text.is_empty()) else { return Ok(None) };
    let Ok(day) = text.parse::<Date>() else { return Ok(Some(text)) };
    if text.len() > DAY {
        return Ok(Some(text));
    }
    let begins = day.checked_add(later.days()).and_then(|day| day.to_zoned(TimeZone::UTC));
    let begins = begins.map_err(|_| Refusal::field("until", "is no day"))?;
    Ok(Some(begins.timestamp().to_string()))
}

fn form(asked: &RecordQuery) -> Markup {
    let field = |name: &str, label: &str, kind: &str, value: &Option<String>| {
        let list = (name == "code").then_some("codes");
        html! {
            div {
                label for=(name) { (label) }
                input id=(name) name=(name) type=(kind) value=[value.as_deref()] list=[list] autocomplete="off";
            }
        }
    };
    // A field for days shows nothing else: who came with an instant keeps it.
    let kind = |value: &Option<String>| {
        if value.as_ref().is_some_and(|text| text.len() > DAY) { "text" } else { "date" }
    };
    html! {
        form.filters method="get" action="/failure-records" {
            (field("q", "File name or reason", "search", &asked.q))
            (field("owner", "Owner", "text", &asked.owner))
            (field("code", "Code", "text", &asked.code))
            datalist #codes { @for entry in REGISTRY { option value=(entry.name); } }
            (field("since", "From (UTC)", kind(&asked.since), &asked.since))
            (field("until", "To (UTC)", kind(&asked.until), &asked.until))
            @if let Some(job) = asked.job_id.as_deref().filter(|job| !job.is_empty()) { input type="hidden" name="job_id" value=(job); }
            div {
                label for="notified" { "In a digest" }
                select #notified name="notified" {
                    @for (value, text) in [("", "All"), ("false", "Not yet"), ("true", "Yes")] {
                        option value=(value) selected[asked.notified.as_deref().unwrap_or_default() == value] { (text) }
                    }
                }
            }
            div.actions { button { "Show" } a.button.quiet href="/failure-records" { "Clear" } }
        }
    }
}

/// Their table; with the documents they are of, where that is not said already.
pub(super) fn table(records: &[FailureRecord], of: bool) -> Markup {
    html! {
        table.plain-table.stacks {
            thead {
                tr {
                    th scope="col" { "When" }
                    @if of { th scope="col" { "Document" } }
                    th scope="col" { "What failed" }
                    th scope="col" { "What was done" }
                }
            }
            tbody { @for record in records { (row(record, of)) } }
        }
    }
}

fn row(record: &FailureRecord, of: bool) -> Markup {
    let done = match (&record.failed_key, &record.queue_key) {
        (Some(key), _) => html! { "Given up; it lies at " bdi { (key) } },
        (None, Some(key)) => html! { "Back to " bdi { (key) } " for retry " (record.retry_count) },
        (None, None) => html! { "Left where it was" },
    };
    html! {
        tr {
            th scope="row" { (time(record.timestamp)) }
            @if of {
                td {
                    a href={ "/intake/documents/" (record.job_id) } { bdi { (record.pdf_key.strip_prefix("pdf/").unwrap_or(&record.pdf_key)) } }
                    " " span.fine { bdi { (record.iam_username) } }
                }
            }
            td { a href={ "/failures/" (record.code) } { (record.code) } " " span.why { (record.failure_reason) } }
            td { (done) @if !record.notified { " " span.fine { "in no digest yet" } } }
        }
    }
}

/// The same question, from there on.
fn older(asked: &RecordQuery, next: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let words = [
        ("owner", &asked.owner),
        ("code", &asked.code),
        ("job_id", &asked.job_id),
        ("since", &asked.since),
        ("until", &asked.until),
        ("notified", &asked.notified),
        ("q", &asked.q),
        ("limit", &asked.limit),
    ];
    for (name, value) in words {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            query.append_pair(name, value);
        }
    }
    query.append_pair("cursor", next).finish()
}
