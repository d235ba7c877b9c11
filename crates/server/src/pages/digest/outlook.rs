//! What each owner would be told now, and how the last digests went.
//!
//! A mail brings its styles beside its elements, which the policy of pages forbids. So a page shows its plain form, and links to the other: a
//! document of its own, under a policy that allows those styles and nothing else.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, RawQuery, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{Delivery, DeliveryList};
use redrive_intake::digest::{Preview, Recipients};
use redrive_model::Code;
use serde::Deserialize;
use url::form_urlencoded;

use super::super::intake::siblings;
use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::{count, time};
use crate::app::App;
use crate::deadline::to_its_end;
use crate::digest::{digests, goes_to, send::page as deliveries};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// A mail may have its own styles, and do nothing.
const MAIL: HeaderValue = HeaderValue::from_static(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
);
/// So many letters are open; the others are opened by whoever wants to read them.
const OPEN: usize = 3;

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    _: Operator,
    viewer: Viewer,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let digests = digests(&app)?;
    let (mails, previews) = (digests.mails(), digests.preview().await?);
    let asked = query.as_deref() == Some("sent=1");
    let past = deliveries(&app, query.as_deref().filter(|_| !asked)).await?;
    let body = html! {
        h1 { "Digest" }
        p.lead {
            "What owners are told about their files since the last digest. "
            @if !mails { "There is no mail server: digests are written to files. " }
            a href="/notifications" { "Who gets it" }
        }
        (siblings("/digest"))
        @if asked { p.remark role="status" { "It is being sent. How it went is told below." } }
        @if previews.is_empty() {
            div.empty { p { "Nothing changed since the last digest, so nothing would be sent." } }
        } @else {
            form method="post" action="/digest" {
                div.actions { button { "Send to " (count(previews.len() as u64, "owner", "owners")) " now" } }
            }
            @for (nth, preview) in previews.iter().enumerate() { (one(preview, mails, nth < OPEN)) }
        }
        (table(&past))
    };
    Ok(Shell::new("Digest", viewer).at(Place::Intake).page(&body))
}

fn one(preview: &Preview, mails: bool, open: bool) -> Markup {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("owner", &preview.owner).finish();
    html! {
        section.letter {
            h2 { bdi { (preview.owner) } }
            p { (preview.letter.subject) }
            p.fine { (goes(preview, mails)) }
            p { a href={ "/digest/mail?" (query) } { "As the mail looks" span.unseen { " for " (preview.owner) } } }
            details open[open] {
                summary { "As plain text" }
                pre tabindex="0" aria-label={ "The mail for " (preview.owner) " as plain text" } { (preview.letter.text) }
            }
        }
    }
}

fn goes(preview: &Preview, mails: bool) -> Markup {
    let to = preview.to.addresses().join(", ");
    html! {
        @match (&preview.to, goes_to(&preview.to, mails)) {
            (_, "file") => "Goes to a file under reports/digest.",
            (Recipients::Own(_), _) => { "Goes to " bdi { (to) } "." },
            (Recipients::Default(_), _) => { "Has no address, so it goes to default: " bdi { (to) } "." },
            (Recipients::Off, _) => "Goes nowhere: every address is switched off. It waits until one is switched on.",
            (Recipients::Nobody, _) => {
                span.why { "Goes nowhere: there is no address, and none for default. " a href="/notifications" { "Add one" } }
            },
        }
    }
}

fn table(past: &DeliveryList) -> Markup {
    html! {
        h2 { "How the last ones went" }
        @if past.deliveries.is_empty() {
            p.fine { "None was sent yet." }
        } @else {
            table.plain-table.stacks {
                thead { tr { th scope="col" { "Owner" } th scope="col" { "How it went" } th scope="col" { "When" } } }
                tbody { @for delivery in &past.deliveries { (row(delivery)) } }
            }
        }
        nav.pages aria-label="More deliveries" {
            @if let Some(next) = &past.next_cursor { a href={ "/digest?cursor=" (next) } rel="next" { "Older" } }
        }
    }
}

fn row(delivery: &Delivery) -> Markup {
    let (tone, word) = match delivery.state.as_str() {
        "sent" => ("is-good", "Sent"),
        "written" => ("is-good", "Written to a file"),
        "waiting" => ("is-delayed", "Not sent yet; it is tried again"),
        _ => ("is-bad", "Not sent; the next digest tells it"),
    };
    html! {
        tr {
            th scope="row" { bdi { (delivery.owner) } " " span.fine { (count(delivery.documents, "file", "files")) } }
            td {
                strong class={ "toned " (tone) } { (word) }
                @if delivery.tries > 1 { span.fine { " after " (count(u64::from(delivery.tries), "try", "tries")) } }
                @if !delivery.address.is_empty() { " " span.fine { bdi { (delivery.address) } } }
                @if let Some(error) = &delivery.error { " " span.why { (error) } }
            }
            td { (time(delivery.at)) }
        }
    }
}

/// Whose mail.
#[derive(Debug, Deserialize)]
pub(in crate::pages) struct Whose {
    owner: String,
}

/// One mail as it looks.
pub(in crate::pages) async fn mail(
    State(app): State<App>,
    _: Operator,
    whose: Result<Query<Whose>, QueryRejection>,
) -> Result<Response, Refusal> {
    let none = || Refusal::new(Code::NotFound, "Nothing would be told to this owner now.");
    let Query(Whose { owner }) = whose.map_err(|_| none())?;
    let preview = digests(&app)?.preview_of(&owner).await?.ok_or_else(none)?;
    let mut response = axum::response::Html(preview.letter.html).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, MAIL);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Sends it now.
pub(in crate::pages) async fn send(State(app): State<App>, operator: Operator) -> Result<Response, Refusal> {
    let digests = digests(&app)?.clone();
    to_its_end(async move { Ok(digests.open(&operator.by(None)).await?) }).await?;
    Ok(Redirect::to("/digest?sent=1").into_response())
}
