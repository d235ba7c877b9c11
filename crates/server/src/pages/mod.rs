//! The pages: Upload, Jobs, Job, and what they link to. HTML made here, read with or without script.
//!
//! Pages are no part of the API: they use the same extractors and the same functions, so that there is no second way to a job.
//! Everything can be read, and every single act done, by plain links and forms. With script the same HTML is kept fresh: one
//! stream (`live`) says that something changed, and the page asks for the piece that it shows.
//!
//! What is deliberately absent: inline script and style (the policy below forbids both), an address outside of this server, and
//! a sentence about a failure that is not the registry's.

mod acts;
mod assets;
mod banner;
mod desk;
mod digest;
mod docs;
mod failures;
mod fetch;
mod forget;
mod icon;
mod intake;
mod job;
mod jobs;
mod layout;
mod live;
mod preview;
mod problem;
mod remarks;
mod row;
mod settings;
mod sign_in;
mod timeline;
mod upload;
mod viewer;
mod words;
mod zip;

use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::Markup;

pub(crate) use problem::{problem, wants_page};
pub(crate) use sign_in::sign_in;
pub(crate) use viewer::Viewer;

use crate::rates::Kind;
use crate::routes::{Access, GOES_ON, Row};

/// What a page may load: what this server gives, and nothing that stands in the page itself.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// A form must be able to say where it comes from: with `no-referrer` browsers send `Origin: null`.
const REFERRER: HeaderValue = HeaderValue::from_static("same-origin");

/// Every page, piece of a page and act.
pub(crate) fn table() -> Vec<Row> {
    use Access::{Everybody, Operator, Owner, Session};
    let (look, act) = (Kind::Look, Kind::Act);
    vec![
        Row::new(Method::GET, "/", Session, look, get(upload::page)),
        Row::new(Method::POST, "/upload", Session, Kind::Upload, post(upload::hand_in)).takes_files(),
        Row::new(Method::POST, "/upload/unsent", Session, Kind::Upload, post(upload::unsent)),
        Row::new(Method::GET, "/jobs", Session, look, get(jobs::page)),
        Row::new(Method::GET, "/jobs/zip", Session, look, get(zip::chosen)),
        Row::new(Method::GET, "/jobs/replay", Operator, look, get(desk::ask_replay)),
        Row::new(Method::POST, "/jobs/replay", Operator, act, post(desk::replay_many)),
        Row::new(Method::GET, "/jobs/cancel", Operator, look, get(desk::ask_cancel)),
        Row::new(Method::POST, "/jobs/cancel", Operator, act, post(desk::cancel_many)).long(GOES_ON),
        Row::new(Method::GET, "/jobs/{id}", Owner, look, get(job::page)),
        Row::new(Method::POST, "/jobs/{id}/retry", Owner, act, post(acts::retry)),
        Row::new(Method::POST, "/jobs/{id}/cancel", Owner, act, post(acts::cancel)),
        Row::new(Method::GET, "/fetch", Session, look, get(fetch::list)),
        Row::new(Method::POST, "/fetch", Session, Kind::Upload, post(fetch::hand_in)).takes_files(),
        Row::new(Method::GET, "/fetch/{id}", Owner, look, get(fetch::batch)),
        Row::new(Method::POST, "/fetch/{id}/retry", Owner, act, post(fetch::retry)),
        Row::new(Method::POST, "/fetch/{id}/cancel", Owner, act, post(fetch::cancel)),
        Row::new(Method::GET, "/intake", Operator, look, get(intake::board)),
        Row::new(Method::POST, "/intake/settings", Operator, act, post(intake::change)).admin(),
        Row::new(Method::GET, "/intake/documents/{id}", Operator, look, get(intake::document)),
        Row::new(Method::POST, "/intake/documents/{id}/report", Operator, act, post(intake::report)),
        Row::new(Method::GET, "/failure-records", Operator, look, get(intake::records)),
        Row::new(Method::GET, "/digest", Operator, look, get(digest::outlook)),
        Row::new(Method::POST, "/digest", Operator, act, post(digest::send)),
        Row::new(Method::GET, "/digest/mail", Operator, look, get(digest::mail)),
        Row::new(Method::GET, "/notifications", Operator, look, get(digest::addresses)),
        Row::new(Method::POST, "/notifications", Operator, act, post(digest::change)).admin(),
        Row::new(Method::GET, "/overview", Operator, look, get(desk::overview)),
        Row::new(Method::GET, "/dead", Operator, look, get(desk::groups)),
        Row::new(Method::GET, "/dead/{fingerprint}", Operator, look, get(desk::group)),
        Row::new(Method::POST, "/dead/{fingerprint}", Operator, act, post(desk::change_group)),
        Row::new(Method::POST, "/dead/{fingerprint}/replay", Operator, act, post(desk::replay)),
        Row::new(Method::POST, "/dead/{fingerprint}/discard", Operator, act, post(desk::discard))
            .long(GOES_ON),
        Row::new(Method::POST, "/letters/{offset}", Operator, act, post(desk::change_letter)),
        Row::new(Method::GET, "/replays", Operator, look, get(desk::replays)),
        Row::new(Method::GET, "/replays/{id}", Operator, look, get(desk::one_replay)),
        Row::new(Method::POST, "/replays/{id}", Operator, act, post(desk::change_replay)),
        Row::new(Method::GET, "/breakers", Operator, look, get(desk::breakers)),
        Row::new(Method::POST, "/breakers", Operator, act, post(desk::change_breaker)),
        Row::new(Method::GET, "/workers", Operator, look, get(desk::workers)),
        Row::new(Method::POST, "/workers", Operator, act, post(desk::resume_workload)),
        Row::new(Method::POST, "/workers/{id}", Operator, act, post(desk::change_worker)),
        Row::new(Method::GET, "/audit", Operator, look, get(desk::trail)),
        Row::new(Method::GET, "/tokens", Operator, look, get(desk::tokens)).admin(),
        Row::new(Method::POST, "/tokens", Operator, act, post(desk::make_token)).admin(),
        Row::new(Method::POST, "/tokens/{id}", Operator, act, post(desk::revoke_token)).admin(),
        Row::new(Method::GET, "/settings", Operator, look, get(settings::page)),
        Row::new(Method::POST, "/settings", Operator, act, post(settings::examine)),
        Row::new(Method::GET, "/banner", Everybody, look, get(banner::piece)),
        Row::new(Method::GET, "/forget", Everybody, look, get(forget::page)),
        Row::new(Method::POST, "/forget", Session, act, post(forget::forget)),
        Row::new(Method::GET, "/live", Session, look, get(live::stream)),
        Row::new(Method::GET, "/failures", Everybody, look, get(failures::list)),
        Row::new(Method::GET, "/failures/{code}", Everybody, look, get(failures::one)),
        Row::new(Method::GET, "/docs", Everybody, look, get(docs::page)),
        Row::new(Method::GET, "/assets/{name}", Everybody, None, get(assets::one)),
        Row::new(Method::GET, "/favicon.ico", Everybody, None, get(assets::icon)),
    ]
}

/// An answer made of HTML, with the headers that every page has.
fn html(markup: Markup) -> Response {
    let mut response = markup.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::REFERRER_POLICY, REFERRER);
    // The same address answers with a page or with a piece of it.
    headers.insert(header::VARY, HeaderValue::from_static("HX-Request"));
    response
}

/// Whether a script of ours asks for a piece of a page.
fn wants_piece(headers: &HeaderMap) -> bool {
    headers.contains_key("hx-request")
}
