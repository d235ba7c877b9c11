//! The first page: choose files, or drop them. Without script the form sends them all at once and says what became of each.

use std::convert::Infallible;

use axum::Form;
use axum::body::Body;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::ListQuery;
use redrive_model::Code;
use serde::Deserialize;

use super::banner::banner;
use super::jobs::List;
use super::layout::{Place, Shell};
use super::viewer::Viewer;
use super::words::{count, days};
use crate::app::App;
use crate::refusal::Refusal;
use crate::session::{Guest, Session};
use crate::upload::form::{self, Handed};
use crate::upload::{in_words, refuse_unsent};

/// So many of the newest jobs are shown below the form.
const LATEST: &str = "10";

/// The page. It begins the session, so that files which are sent side by side belong to one.
pub(super) async fn page(
    State(app): State<App>,
    session: Session,
    viewer: Viewer,
) -> Result<Response, Refusal> {
    let query = ListQuery { limit: Some(LATEST.to_owned()), ..ListQuery::default() };
    let latest = List::look(&app, &session, query).await?;
    let body = html! {
        h1 { "Convert PDFs to XML" }
        p.lead { "You get one XML file for each PDF. For every file that fails you get a sentence that says why and what to do." }
        (chooser(&app))
        div.latest.is-new[latest.is_empty()] {
            h2 { "Latest" }
            p.fine { a href="/jobs" { "All jobs" } }
            (latest.table())
        }
    };
    let shell = Shell::new("Upload", viewer).at(Place::Upload).live(banner(&app).await, "/live");
    Ok(shell.uploads().page(&body))
}

fn chooser(app: &App) -> Markup {
    let limits = app.limits();
    html! {
        form #upload method="post" action="/upload" enctype="multipart/form-data"
            data-most=(limits.max_upload) data-too-large=(form::too_large_sentence(app)) {
            div.field {
                label for="mapping" { "Mapping" }
                select #mapping name="mapping" {
                    @for mapping in app.mappings().list().iter() {
                        option value=(mapping.name) { (mapping.title) }
                    }
                }
            }
            div.drop #drop {
                input.plain #file type="file" name="file" accept=".pdf,application/pdf" multiple required
                    aria-label="PDF files" aria-describedby="limits";
                button.big.plain { "Upload" }
                button.big.scripted #choose type="button" aria-describedby="limits" { "Choose files" }
                p.scripted { "or drop PDFs here" }
                p.fine #limits {
                    "PDF only, up to " (in_words(limits.max_upload)) " each, as many as you like. "
                    "We keep a PDF for " (days(limits.pdf_kept)) " and its XML for " (days(limits.xml_kept))
                    " after the conversion. Only this browser can see them, and whoever runs this server."
                }
            }
        }
        ul #files aria-label="Files that are being sent" {}
    }
}

/// What the script says instead of sending a file that is larger than may be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unsent {
    name: String,
    mapping: String,
    bytes: u64,
}

/// Refuses a file that the script did not send, so that it leaves the same row as one that was sent.
pub(super) async fn unsent(
    State(app): State<App>,
    guest: Guest,
    unsent: Result<Form<Unsent>, FormRejection>,
) -> Result<Infallible, Refusal> {
    let malformed = |_| Refusal::new(Code::ValidationMalformed, "The form holds name, mapping and bytes.");
    let Form(Unsent { name, mapping, bytes }) = unsent.map_err(malformed)?;
    Err(refuse_unsent(&app, guest, &name, &mapping, bytes).await?)
}

/// What the form without script sends. When every file is taken the list shows them; else each one's fate is told here.
pub(super) async fn hand_in(
    State(app): State<App>,
    guest: Guest,
    viewer: Viewer,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let handed = form::hand_in(&app, &guest, &headers, body).await?;
    let is_new = |one: &Handed| one.outcome.as_ref().is_ok_and(|reply| reply.deduped_from.is_none());
    if handed.iter().all(is_new) {
        return Ok(Redirect::to("/jobs").into_response());
    }
    let taken = handed.iter().filter(|one| one.outcome.is_ok()).count();
    let title = format!("{taken} of {} taken", count(handed.len() as u64, "file", "files"));
    let body = html! {
        h1 { (title) }
        ul.files { @for one in &handed { (fate(one)) } }
        p.actions {
            a.button href="/jobs" { "Your jobs" }
            a.button.quiet href="/" { "Upload more" }
        }
    };
    Ok(Shell::new(&title, viewer).at(Place::Upload).page(&body))
}

fn fate(one: &Handed) -> Markup {
    let how = match &one.outcome {
        Ok(reply) if reply.deduped_from.is_some() => "is-off",
        Ok(_) => "is-good",
        Err(_) => "is-bad",
    };
    html! {
        li.(how) {
            bdi.name { (one.name) }
            @match &one.outcome {
                Ok(reply) if reply.deduped_from.is_some() => {
                    p { "You have this already: " a href={ "/jobs/" (reply.job.id) } { "see the earlier job" } "." }
                }
                Ok(reply) => p { "Taken: " a href={ "/jobs/" (reply.job.id) } { "see its job" } "." },
                Err(refusal) => {
                    @let problem = refusal.problem();
                    @let code = Code::parse(&problem.code).unwrap_or(Code::Unknown);
                    p.why {
                        (problem.detail) " " (code.entry().what_you_can_do) " "
                        a href={ "/failures/" (problem.code) } { (problem.code) }
                    }
                }
            }
        }
    }
}
