//! Every route, once. A row says who may use it, with which scope, and what it costs; its layers follow from that.
//!
//! A test walks the tables with an owner, another session, no session and an operator, and fails on a row that it does not know.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post, put};
use redrive_store::Scope;

use crate::app::App;
use crate::desk::{acts, breakers, bulk, groups, letters, overview, replays, simulate, turns, workers};
use crate::rates::Kind;
use crate::session::Need;
use crate::{
    auditor, dead, deadline, digest, download, failures, feed, fetch, health, intake, jobs, mappings,
    openapi, operator, pages, pulse, rates, session, settings, tokens, upload, zip,
};

/// The largest body of a request that has no file in it, in bytes.
pub(crate) const SMALL_BODY: usize = 64 * 1024;

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
    /// What an operator's token needs for it.
    pub scope: Scope,
}

/// All routes of the API.
#[must_use]
pub fn routes() -> Vec<RouteInfo> {
    table().into_iter().map(|row| row.info).collect()
}

/// A route, and what it costs.
pub(crate) struct Costs {
    pub(crate) info: RouteInfo,
    /// Whether it is counted who asks how often; for that the store may be asked who it is.
    pub(crate) metered: bool,
}

/// All routes of the API with their costs.
pub(crate) fn costs() -> Vec<Costs> {
    table().into_iter().map(|row| Costs { metered: row.kind.is_some(), info: row.info }).collect()
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
        // Who may only read changes nothing by it; what is everybody's needs nothing.
        let reads = method == Method::GET || access == Access::Everybody;
        let scope = if reads { Scope::Read } else { Scope::Act };
        Self { info: RouteInfo { method, path, access, scope }, handler, kind: kind.into(), timed: true }
    }

    /// It changes settings, tokens, or who is told.
    pub(crate) fn admin(mut self) -> Self {
        self.info.scope = Scope::Admin;
        self
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
    let admin = Row::admin;
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
        slow(row(Method::POST, "/api/jobs/cancel", Operator, act, post(bulk::cancel))),
        row(Method::GET, "/api/overview", Operator, look, get(overview::one)),
        row(Method::GET, "/api/breakers/history", Operator, look, get(turns::list)),
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
        admin(row(Method::PUT, "/api/notifications", Operator, act, put(digest::replace))),
        admin(row(Method::POST, "/api/notifications", Operator, act, post(digest::add))),
        admin(row(Method::DELETE, "/api/notifications", Operator, act, delete(digest::remove))),
        admin(row(Method::GET, "/api/tokens", Operator, look, get(tokens::list))),
        admin(row(Method::POST, "/api/tokens", Operator, act, post(tokens::make))),
        admin(row(Method::POST, "/api/tokens/{id}/revoke", Operator, act, post(tokens::revoke))),
        row(Method::GET, "/api/intake", Operator, look, get(intake::one)),
        admin(row(Method::PUT, "/api/intake/settings", Operator, act, put(intake::change))),
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
        let operators_only = row.info.access == Access::Operator;
        let need = Need { scope: row.info.scope, operators_only };
        handler = handler.layer(from_fn_with_state(need, session::need));
        router.route(row.info.path, handler.layer(DefaultBodyLimit::max(SMALL_BODY)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams, uploads and downloads are watched by the door, byte by byte; what operators do to or with every job
    /// takes as long as that.
    const UNTIMED: &[(&str, &str)] = &[
        ("POST", "/api/upload"),
        ("POST", "/upload"),
        ("POST", "/api/fetch"),
        ("POST", "/fetch"),
        ("GET", "/api/jobs/{id}/download"),
        ("GET", "/api/fetch/{id}/missing"),
        ("GET", "/api/download.zip"),
        ("GET", "/api/events/stream"),
        ("GET", "/live"),
        ("GET", "/api/dead-letters"),
        ("GET", "/api/intake/documents/{id}/report"),
        ("POST", "/api/simulate"),
        ("POST", "/api/jobs/cancel"),
        ("POST", "/jobs/cancel"),
        ("GET", "/api/auditor"),
    ];

    /// What asks the store for nothing and is small; everything else is counted.
    const UNCOUNTED: &[&str] = &[
        "/healthz",
        "/readyz",
        "/api/failures",
        "/api/failures/{code}",
        "/api/openapi.json",
        "/assets/{name}",
        "/favicon.ico",
    ];

    #[test]
    fn every_handler_has_its_time_and_its_rate() {
        for row in table().iter().chain(&pages::table()) {
            let (method, path) = (row.info.method.as_str(), row.info.path);
            assert_eq!(!row.timed, UNTIMED.contains(&(method, path)), "{method} {path}");
            assert_eq!(row.kind.is_none(), UNCOUNTED.contains(&path), "{method} {path}");
            // Looking never changes anything: a link cannot be made to act.
            assert!(method != "GET" || row.kind != Some(Kind::Act), "{method} {path}");
        }
    }
}
