//! What failed: every failed run of a document, found by owner, code, time and text.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use maud::{Markup, html};
use redrive_api::{FailureRecord, RecordQuery};
use url::form_urlencoded;

use super::super::layout::Shell;
use super::super::words::time;
use super::siblings;
use crate::app::App;
use crate::intake::records::{parse, read, view};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let asked = read(query.as_deref())?;
    let (filter, page) = parse(asked.clone())?;
    let page = app.desk().failure_records(operator, filter, page).await?;
    let records: Vec<FailureRecord> = page.rows.iter().map(view).collect();
    let body = html! {
        h1 { "Failures of documents" }
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
    Ok(Shell::new("Failures of documents").page(&body))
}

fn form(asked: &RecordQuery) -> Markup {
    let field = |name: &str, label: &str, value: &Option<String>| {
        html! {
            div {
                label for=(name) { (label) }
                input id=(name) name=(name) value=[value.as_deref()];
            }
        }
    };
    html! {
        form.filters method="get" action="/failure-records" {
            (field("q", "Text", &asked.q))
            (field("owner", "Owner", &asked.owner))
            (field("code", "Code", &asked.code))
            (field("since", "Since (2026-02-25T00:00:00Z)", &asked.since))
            (field("until", "Until", &asked.until))
            div {
                label for="notified" { "Told" }
                select #notified name="notified" {
                    @for (value, text) in [("", "all"), ("false", "not yet"), ("true", "told")] {
                        option value=(value) selected[asked.notified.as_deref().unwrap_or_default() == value] { (text) }
                    }
                }
            }
            div.actions { button { "Show" } }
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
                    th scope="col" { "What" }
                    th scope="col" { "What was done" }
                }
            }
            tbody { @for record in records { (row(record, of)) } }
        }
    }
}

fn row(record: &FailureRecord, of: bool) -> Markup {
    let done = match (&record.failed_key, &record.queue_key) {
        (Some(key), _) => html! { "given up: " bdi { (key) } },
        (None, Some(key)) => html! { "back to " bdi { (key) } ", retry " (record.retry_count) },
        (None, None) => html! { "left where it was" },
    };
    html! {
        tr {
            th scope="row" { (time(record.timestamp)) }
            @if of {
                td {
                    a href={ "/intake/documents/" (record.job_id) } { bdi { (record.pdf_key) } }
                    " " span.fine { bdi { (record.iam_username) } }
                }
            }
            td { a href={ "/failures/" (record.code) } { (record.code) } " " span.why { (record.failure_reason) } }
            td { (done) @if !record.notified { " " span.fine { "not told yet" } } }
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
