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
use crate::deadline::{self, Clock};
use crate::desk::{
    acts, breakers, bulk, discards, groups, letters, overview, replays, simulate, turns, workers,
};
use crate::rates::Kind;
use crate::session::Need;
use crate::{
    auditor, dead, digest, download, failures, feed, fetch, health, intake, jobs, mappings, once, openapi,
    operator, pages, pulse, rates, session, settings, tokens, upload, zip,
};

/// What is said when an act on many is not done in time.
pub(crate) const GOES_ON: &str = "What was begun goes on without you: see the jobs and the audit trail before you ask again. A \
                                  smaller limit is answered sooner.";
/// What is said when a file is not ready in time.
const FILE_NOT_READY: &str = "Nothing was changed. Try again in a while.";

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
    /// Whether an `Idempotency-Key` makes it safe to repeat by a layer of its own.
    pub(crate) once: bool,
}

/// All routes of the API with their costs.
pub(crate) fn costs() -> Vec<Costs> {
    let costs = |row: Row| Costs { metered: row.kind.is_some(), once: row.once, info: row.info };
    table().into_iter().map(costs).collect()
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
    /// How long the handler may take until it answers.
    clock: Clock,
    /// Whether the same request with the same `Idempotency-Key` is carried out once.
    once: bool,
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
        let kind = kind.into();
        // Files are handed in with their key. A page has no such header.
        let acts = matches!(access, Access::Owner | Access::Operator) && kind == Some(Kind::Act);
        let once = acts && method == Method::POST && path.starts_with("/api/");
        Self { info: RouteInfo { method, path, access, scope }, handler, kind, clock: Clock::Usual, once }
    }

    /// It changes settings, tokens, or who is told.
    pub(crate) fn admin(mut self) -> Self {
        self.info.scope = Scope::Admin;
        self
    }

    /// It changes nothing, however often it is asked.
    pub(crate) fn only_looks(self) -> Self {
        Self { once: false, ..self }
    }

    /// It takes files in, and has the time for that.
    pub(crate) fn takes_files(self) -> Self {
        Self { clock: Clock::Body, ..self }
    }

    /// It looks at many jobs or at whole files, and says what can be done when that takes too long.
    pub(crate) fn long(self, advice: &'static str) -> Self {
        Self { clock: Clock::Long(advice), ..self }
    }
}

fn table() -> Vec<Row> {
    use Access::{Everybody, Operator, Owner, Session};
    let row = Row::new;
    let takes_files = Row::takes_files;
    let long = Row::long;
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
        takes_files(row(Method::POST, "/api/upload", Session, Some(Kind::Upload), post(upload::upload))),
        row(Method::GET, "/api/jobs", Session, look, get(jobs::list)),
        row(Method::GET, "/api/jobs/{id}", Owner, look, get(jobs::one)),
        row(Method::GET, "/api/jobs/{id}/attempts", Owner, look, get(jobs::attempts)),
        row(Method::GET, "/api/jobs/{id}/events", Owner, look, get(jobs::events)),
        row(Method::GET, "/api/jobs/{id}/explain", Owner, look, get(jobs::explain)),
        long(
            row(Method::GET, "/api/jobs/{id}/download", Owner, Some(Kind::Download), get(download::download)),
            FILE_NOT_READY,
        ),
        row(Method::POST, "/api/jobs/{id}/retry", Owner, Some(Kind::Act), post(jobs::retry)),
        row(Method::POST, "/api/jobs/{id}/cancel", Owner, Some(Kind::Act), post(jobs::cancel)),
        takes_files(row(Method::POST, "/api/fetch", Session, Some(Kind::Upload), post(fetch::post))),
        row(Method::GET, "/api/fetch", Session, look, get(fetch::list)),
        row(Method::GET, "/api/fetch/{id}", Owner, look, get(fetch::one)),
        row(Method::GET, "/api/fetch/{id}/resources", Owner, look, get(fetch::resources)),
        row(Method::GET, "/api/fetch/{id}/missing", Owner, Some(Kind::Download), get(fetch::missing)),
        row(Method::POST, "/api/fetch/{id}/cancel", Owner, Some(Kind::Act), post(fetch::cancel)),
        row(Method::POST, "/api/fetch/{id}/retry", Owner, Some(Kind::Act), post(fetch::retry)),
        long(
            row(Method::GET, "/api/download.zip", Session, Some(Kind::Download), get(zip::download)),
            "Nothing was changed. Ask for fewer results at once, with ids.",
        ),
        row(Method::GET, "/api/events/stream", Session, look, get(feed::stream)),
        row(Method::GET, "/sign-in", Everybody, look, get(operator::page)),
        row(Method::POST, "/sign-in", Everybody, Some(Kind::Act), post(operator::enter)),
        row(Method::POST, "/sign-out", Everybody, Some(Kind::Act), post(operator::leave)),
        row(Method::GET, "/api/dead-letters", Operator, look, get(dead::list)),
        long(row(Method::POST, "/api/dead-letters/discard", Operator, act, post(discards::discard)), GOES_ON),
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
        long(row(Method::POST, "/api/jobs/cancel", Operator, act, post(bulk::cancel)), GOES_ON),
        row(Method::GET, "/api/overview", Operator, look, get(overview::one)),
        row(Method::GET, "/api/breakers/history", Operator, look, get(turns::list)),
        row(Method::GET, "/api/breakers", Operator, look, get(breakers::list)),
        row(Method::POST, "/api/breakers/{target}/hold", Operator, act, post(breakers::hold)),
        row(Method::POST, "/api/breakers/{target}/release", Operator, act, post(breakers::release)),
        row(Method::GET, "/api/workers", Operator, look, get(workers::list)),
        row(Method::POST, "/api/workers/{id}/drain", Operator, act, post(workers::drain)),
        long(
            row(Method::POST, "/api/simulate", Operator, act, post(simulate::simulate)).only_looks(),
            "It was stopped, and nothing was changed. Ask for fewer jobs: a later since.",
        ),
        row(Method::GET, "/api/audit", Operator, look, get(acts::list)),
        long(
            row(Method::GET, "/api/auditor", Operator, look, get(auditor::look)),
            "It was stopped, and nothing was changed. POST /api/doctor looks at the same without a limit and goes on after its answer; \
             GET /api/doctor says what it found.",
        ),
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
        row(
            Method::GET,
            "/api/intake/documents/{id}/report",
            Operator,
            Some(Kind::Download),
            get(intake::documents::newest_report),
        ),
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
        if row.once {
            handler = handler.layer(from_fn_with_state(app.clone(), once::once));
        }
        // Whoever waits too long for an answer finds it under their key.
        handler = deadline::within(handler, row.clock, app.limits());
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
    use axum::body::Body;
    use axum::extract::Request;
    use axum::routing::any;
    use tokio::time::Instant;
    use tower_service::Service;

    use super::*;
    use crate::limits::Limits;
    use crate::refusal::Refusal;

    /// What looks at many jobs or at whole files.
    const LONG: &[(&str, &str)] = &[
        ("GET", "/api/jobs/{id}/download"),
        ("GET", "/api/download.zip"),
        ("POST", "/api/simulate"),
        ("POST", "/api/jobs/cancel"),
        ("POST", "/jobs/cancel"),
        ("POST", "/api/dead-letters/discard"),
        ("POST", "/dead/{fingerprint}/discard"),
        ("GET", "/api/auditor"),
    ];

    /// What takes files in.
    const BODY: &[(&str, &str)] =
        &[("POST", "/api/upload"), ("POST", "/upload"), ("POST", "/api/fetch"), ("POST", "/fetch")];

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

    /// A handler that never answers, by each row's clock.
    #[tokio::test(start_paused = true)]
    async fn every_route_answers_in_its_time_whatever_its_handler_does() {
        let limits = Limits::default();
        let mut told = 0;
        for row in table().into_iter().chain(pages::table()) {
            let (method, path) = (row.info.method.clone(), row.info.path);
            let time = match (method.as_str(), path) {
                known if LONG.contains(&known) => limits.long_deadline,
                known if BODY.contains(&known) => limits.body_deadline,
                _ => limits.deadline,
            };
            let never = deadline::within::<()>(any(std::future::pending::<()>), row.clock, &limits);
            let (began, request) = (Instant::now(), Request::builder().method(&method).uri("/"));
            let request = request.body(Body::empty()).unwrap();
            let answer = Router::new().route("/", never).call(request).await.unwrap();
            assert_eq!(began.elapsed().as_secs(), time.as_secs(), "{method} {path}");
            assert_eq!(answer.status(), 503, "{method} {path}");
            assert!(answer.headers().contains_key("retry-after"), "{method} {path}");
            let refusal = answer.extensions().get::<Refusal>().unwrap();
            let detail = &refusal.problem().detail;
            assert_eq!(refusal.code(), "ANSWER_TIMEOUT", "{method} {path}");
            assert!(detail.starts_with("This took too long: ") && !detail.contains("  "), "{detail}");
            if let Clock::Long(advice) = row.clock {
                assert!(detail.ends_with(advice), "{method} {path}: {detail}");
            }
            told += 1;
        }
        assert!(told > 100 && limits.deadline < limits.long_deadline, "{told}");
        // Who sends slowly is told so by the door, not by this.
        assert!(limits.body_deadline > crate::DoorLimits::default().body_time + limits.long_deadline);
    }

    #[test]
    fn what_is_done_over_the_api_is_done_once_under_a_key() {
        let mut once = 0;
        for row in table().into_iter().chain(pages::table()) {
            let (method, path) = (row.info.method.clone(), row.info.path);
            // Files bring their key with them, and a simulation changes nothing.
            let other = ["/api/upload", "/api/fetch", "/api/simulate"].contains(&path);
            let acts = method == Method::POST && path.starts_with("/api/") && !other;
            assert_eq!(row.once, acts, "{method} {path}");
            once += u32::from(acts);
        }
        assert!(once > 20, "{once}");
    }

    #[test]
    fn every_handler_has_its_rate() {
        for row in table().iter().chain(&pages::table()) {
            let (method, path) = (row.info.method.as_str(), row.info.path);
            assert_eq!(row.kind.is_none(), UNCOUNTED.contains(&path), "{method} {path}");
            // Looking never changes anything: a link cannot be made to act.
            assert!(method != "GET" || row.kind != Some(Kind::Act), "{method} {path}");
        }
    }
}
