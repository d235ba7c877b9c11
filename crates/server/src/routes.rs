//! Every route, once. A row says who may use it and what it costs; its layers follow from that.
//!
//! A test walks the tables with an owner, another session, no session and an operator, and fails on a row that it does not know.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post, put};

use crate::app::App;
use crate::desk::{acts, breakers, groups, letters, replays, simulate, workers};
use crate::rates::Kind;
use crate::{
    auditor, dead, deadline, digest, download, failures, feed, fetch, health, intake, jobs, mappings,
    openapi, operator, pages, pulse, rates, settings, upload, zip,
};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody; it tells nothing about jobs.
    Everybody,
    /// A session, for its own; one is begun when there is none.
    Session,
    /// The owner of the job that the path names, and operators; to all others it does not exist.
    Owner,
    /// Operators alone.
    Operator,
}

/// A route as others may know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteInfo {
    /// Its method.
    pub method: Method,
    /// Its path, with names in braces.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
}

/// All routes of the API.
#[must_use]
pub fn routes() -> Vec<RouteInfo> {
    table().into_iter().map(|row| row.info).collect()
}

/// All routes of the pages, which are no part of the API.
#[must_use]
pub fn page_routes() -> Vec<RouteInfo> {
    pages::table().into_iter().map(|row| row.info).collect()
}

/// A route with its layers still to come.
pub(crate) struct Row {
    info: RouteInfo,
    handler: MethodRouter<App>,
    kind: Option<Kind>,
    /// Whether the handler has the usual time; streams and uploads have clocks of their own.
    timed: bool,
}

impl Row {
    pub(crate) fn new(
        method: Method,
        path: &'static str,
        access: Access,
        kind: impl Into<Option<Kind>>,
        handler: MethodRouter<App>,
    ) -> Self {
        Self { info: RouteInfo { method, path, access }, handler, kind: kind.into(), timed: true }
    }

    /// It has a clock of its own.
    pub(crate) fn slow(self) -> Self {
        Self { timed: false, ..self }
    }
}

fn table() -> Vec<Row> {
    use Access::{Everybody, Operator, Owner, Session};
    let row = Row::new;
    let slow = Row::slow;
    let (look, act) = (Some(Kind::Look), Some(Kind::Act));
    vec![
        row(Method::GET, "/healthz", Everybody, None, get(health::healthz)),
        row(Method::GET, "/readyz", Everybody, None, get(health::readyz)),
        row(Method::GET, "/api/failures", Everybody, None, get(failures::list)),
        row(Method::GET, "/api/failures/{code}", Everybody, None, get(failures::one)),
        row(Method::GET, "/api/openapi.json", Everybody, None, get(openapi::document)),
        row(Method::GET, "/api/mappings", Everybody, look, get(mappings::list)),
        row(Method::GET, "/api/status", Everybody, look, get(pulse::status)),
        slow(row(Method::POST, "/api/upload", Session, Some(Kind::Upload), post(upload::upload))),
        row(Method::GET, "/api/jobs", Session, look, get(jobs::list)),
        row(Method::GET, "/api/jobs/{id}", Owner, look, get(jobs::one)),
        row(Method::GET, "/api/jobs/{id}/attempts", Owner, look, get(jobs::attempts)),
        row(Method::GET, "/api/jobs/{id}/events", Owner, look, get(jobs::events)),
        row(Method::GET, "/api/jobs/{id}/explain", Owner, look, get(jobs::explain)),
        slow(row(
            Method::GET,
            "/api/jobs/{id}/download",
            Owner,
            Some(Kind::Download),
            get(download::download),
        )),
        row(Method::POST, "/api/jobs/{id}/retry", Owner, Some(Kind::Act), post(jobs::retry)),
        row(Method::POST, "/api/jobs/{id}/cancel", Owner, Some(Kind::Act), post(jobs::cancel)),
        slow(row(Method::POST, "/api/fetch", Session, Some(Kind::Upload), post(fetch::post))),
        row(Method::GET, "/api/fetch", Session, look, get(fetch::list)),
        row(Method::GET, "/api/fetch/{id}", Owner, look, get(fetch::one)),
        row(Method::GET, "/api/fetch/{id}/resources", Owner, look, get(fetch::resources)),
        slow(row(Method::GET, "/api/fetch/{id}/missing", Owner, Some(Kind::Download), get(fetch::missing))),
        row(Method::POST, "/api/fetch/{id}/cancel", Owner, Some(Kind::Act), post(fetch::cancel)),
        row(Method::POST, "/api/fetch/{id}/retry", Owner, Some(Kind::Act), post(fetch::retry)),
        slow(row(Method::GET, "/api/download.zip", Session, Some(Kind::Download), get(zip::download))),
        slow(row(Method::GET, "/api/events/stream", Session, look, get(feed::stream))),
        row(Method::GET, "/sign-in", Everybody, look, get(operator::page)),
        row(Method::POST, "/sign-in", Everybody, Some(Kind::Act), post(operator::enter)),
        row(Method::POST, "/sign-out", Everybody, Some(Kind::Act), post(operator::leave)),
        slow(row(Method::GET, "/api/dead-letters", Operator, look, get(dead::list))),
        row(Method::GET, "/api/dead-letters/{offset}", Operator, look, get(dead::one)),
        row(Method::POST, "/api/dead-letters/{offset}/replay", Operator, act, post(letters::replay)),
        row(Method::POST, "/api/dead-letters/{offset}/discard", Operator, act, post(letters::discard)),
        row(Method::POST, "/api/replays", Operator, act, post(replays::start)),
        row(Method::GET, "/api/replays", Operator, look, get(replays::list)),
        row(Method::GET, "/api/replays/{id}", Operator, look, get(replays::one)),
        row(Method::POST, "/api/replays/{id}/pause", Operator, act, post(replays::pause)),
        row(Method::POST, "/api/replays/{id}/resume", Operator, act, post(replays::resume)),
        row(Method::POST, "/api/replays/{id}/cancel", Operator, act, post(replays::cancel)),
        row(Method::GET, "/api/groups", Operator, look, get(groups::list)),
        row(Method::GET, "/api/groups/{fingerprint}", Operator, look, get(groups::one)),
        row(Method::POST, "/api/groups/{fingerprint}/ack", Operator, act, post(groups::ack)),
        row(Method::POST, "/api/groups/{fingerprint}/resolve", Operator, act, post(groups::resolve)),
        row(Method::GET, "/api/breakers", Operator, look, get(breakers::list)),
        row(Method::POST, "/api/breakers/{target}/hold", Operator, act, post(breakers::hold)),
        row(Method::POST, "/api/breakers/{target}/release", Operator, act, post(breakers::release)),
        row(Method::GET, "/api/workers", Operator, look, get(workers::list)),
        row(Method::POST, "/api/workers/{id}/drain", Operator, act, post(workers::drain)),
        slow(row(Method::POST, "/api/simulate", Operator, act, post(simulate::simulate))),
        row(Method::GET, "/api/audit", Operator, look, get(acts::list)),
        slow(row(Method::GET, "/api/auditor", Operator, look, get(auditor::look))),
        row(Method::GET, "/api/settings", Operator, look, get(settings::list)),
        row(Method::GET, "/api/doctor", Operator, look, get(settings::findings)),
        row(Method::POST, "/api/doctor", Operator, act, post(settings::examine)),
        row(Method::POST, "/api/digest", Operator, act, post(digest::post)),
        row(Method::GET, "/api/deliveries", Operator, look, get(digest::deliveries)),
        row(Method::GET, "/api/notifications", Operator, look, get(digest::list)),
        row(Method::PUT, "/api/notifications", Operator, act, put(digest::replace)),
        row(Method::POST, "/api/notifications", Operator, act, post(digest::add)),
        row(Method::DELETE, "/api/notifications", Operator, act, delete(digest::remove)),
        row(Method::GET, "/api/intake", Operator, look, get(intake::one)),
        row(Method::PUT, "/api/intake/settings", Operator, act, put(intake::change)),
        row(Method::POST, "/api/intake/clear-in-flight", Operator, act, post(intake::clear)),
        row(Method::GET, "/api/intake/documents", Operator, look, get(intake::documents::list)),
        row(Method::GET, "/api/intake/documents/{id}", Operator, look, get(intake::documents::one)),
        slow(row(
            Method::GET,
            "/api/intake/documents/{id}/report",
            Operator,
            Some(Kind::Download),
            get(intake::documents::newest_report),
        )),
        row(
            Method::POST,
            "/api/intake/documents/{id}/report",
            Operator,
            act,
            post(intake::documents::report),
        ),
        row(Method::GET, "/api/failure-records", Operator, look, get(intake::records)),
        row(Method::DELETE, "/api/session", Session, Some(Kind::Act), delete(jobs::forget_me)),
    ]
}

/// Both tables as a router.
pub(crate) fn router(app: &App) -> Router<App> {
    table().into_iter().chain(pages::table()).fold(Router::new(), |router, row| {
        let mut handler = row.handler;
        if row.timed {
            handler = handler.layer(from_fn_with_state(app.clone(), deadline::keep));
        }
        if let Some(kind) = row.kind {
            handler = handler.layer(from_fn_with_state((app.clone(), kind), rates::meter));
        }
        router.route(row.info.path, handler.layer(DefaultBodyLimit::max(64 * 1024)))
    })
}
