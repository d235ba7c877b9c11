//! Who asks: an anonymous session, made on the first visit and kept in a cookie.
//!
//! A request is looked at only when a handler wants to know ([`Visit::known`]), and a session is begun only when one is needed
//! ([`Visit::open`]), or, for what somebody brings, when there is something to own ([`Guest`]). An id that we did not make, or whose time is over, is never adopted: its bearer gets a fresh one.
//!
//! An operator is a session that may see more: one with a token, or one whose browser has signed in. Without a session of its own
//! it owns what it uploads as `operator`.

mod cookie;
mod guest;
mod secret;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use redrive_engine::By;
use redrive_model::{Code, Owner};
use redrive_store::{Scope, SessionKey, SessionLife, SessionRow, TokenId};
use tokio::sync::OnceCell;

use crate::app::App;
use crate::operator::{self, Operator, Sent};
use crate::pages::Viewer;
use crate::peer::Peer;
use crate::rates::too_often;
use crate::refusal::Refusal;
use crate::request::RequestId;

pub(crate) use cookie::Jar;
pub(crate) use guest::Guest;
pub(crate) use secret::Secret;

/// Whose operators' jobs are, when no session is there to own them.
const OPERATOR: &str = "operator";

/// A session that lives. The only thing that opens jobs.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    key: SessionKey,
    owner: Owner,
    operator: Option<Operator>,
    /// What an operator's browser has signed in with.
    signed_in: Option<SessionKey>,
    request: RequestId,
}

impl Session {
    fn of(key: SessionKey, request: RequestId) -> Result<Self, Refusal> {
        // Half of the hash is enough to be the only one, and useless to whoever reads it.
        let half = key.as_bytes().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
        Ok(Self { key, owner: owner(format!("s:{half}"))?, operator: None, signed_in: None, request })
    }

    /// An operator's, with or without a session of its own. A browser's depends on its sign-in.
    fn of_operator(
        own: Option<Self>,
        operator: Operator,
        signed_in: Option<SessionKey>,
        request: RequestId,
    ) -> Result<Self, Refusal> {
        let own = match own {
            Some(own) => own,
            None => Self {
                key: SessionKey::from_bytes([0; 32]),
                owner: owner(OPERATOR.to_owned())?,
                operator: None,
                signed_in: None,
                request,
            },
        };
        Ok(Self { operator: Some(operator.asking(request)), signed_in, ..own })
    }

    /// The one decision about who may see what: one's own, and operators everything.
    pub(crate) fn may_see(&self, owner: Option<&Owner>) -> bool {
        self.operator.is_some() || owner == Some(&self.owner)
    }

    /// Whether this opened it.
    pub(crate) fn rests_on(&self, ended: Ended) -> bool {
        match (ended, self.operator) {
            (Ended::Session(key), Some(_)) => self.signed_in == Some(key),
            (Ended::Session(key), None) => self.key == key,
            (Ended::Token(id), operator) => operator.and_then(Operator::token) == Some(id),
        }
    }

    /// Whether what opened it opens nothing more. A store that is away says nothing about that.
    async fn has_ended(&self, app: &App) -> bool {
        !self.is_open(app).await.unwrap_or(true)
    }

    /// Whether what opened it still does. That somebody looks is no use of a session.
    async fn is_open(&self, app: &App) -> Result<bool, Refusal> {
        let (desk, limits) = (app.desk(), app.limits());
        let Some(operator) = self.operator else {
            return Ok(desk.session(self.key, limits.session).await?.is_some());
        };
        if let Some(key) = self.signed_in
            && desk.session(key, limits.operator_session).await?.is_none()
        {
            return Ok(false);
        }
        let Some(token) = operator.token() else { return Ok(true) };
        Ok(desk.token(token).await?.is_some_and(|row| Operator::with(&row, false).is_some()))
    }

    /// Whether everything may be seen.
    pub(crate) fn is_operator(&self) -> bool {
        self.operator.is_some()
    }

    /// What is answered for a job that is not there: to all but operators it is the same as for one that is not theirs.
    pub(crate) fn missing(&self) -> Refusal {
        match self.operator {
            Some(_) => Refusal::new(Code::NotFound, "There is no such job."),
            None => Refusal::forbidden(),
        }
    }

    /// Who the audit trail says did it, by which request; an operator with their scope.
    pub(crate) fn by(&self) -> By {
        match self.operator {
            Some(operator) => operator.by(None),
            None => By::new(self.owner.as_str()).request(self.request.to_string()),
        }
    }

    /// Whose jobs these are.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Whose idempotency keys a request with one uses: an operator's are their own, whatever browser they come with.
    pub(crate) fn owner_of_keys(&self) -> Result<Owner, Refusal> {
        match self.operator {
            Some(operator) => owner(operator.holder()),
            None => Ok(self.owner.clone()),
        }
    }

    /// Its key in the store.
    pub(crate) fn key(&self) -> SessionKey {
        self.key
    }
}

fn owner(name: String) -> Result<Owner, Refusal> {
    Owner::new(name).map_err(|_| Refusal::new(Code::SystemInternal, "A session has no owner."))
}

/// What a route needs of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// At least this scope.
    pub(crate) scope: Scope,
    /// Nobody else may use it.
    pub(crate) operators_only: bool,
}

impl Need {
    fn refused(self, operator: Operator) -> Refusal {
        operator::too_small(operator.scope(), self.scope)
    }
}

/// Tells the visit what the route needs. It comes before everything that asks who it is.
pub(crate) async fn need(State(need): State<Need>, request: Request, next: Next) -> Response {
    if let Some(visit) = request.extensions().get::<Visit>() {
        visit.needs(need);
    }
    next.run(request).await
}

/// What opened something, and opens nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Somebody signed out, or wants to be forgotten.
    Session(SessionKey),
    /// It was taken back.
    Token(TokenId),
}

/// Is done when what opened a session opens it no more. For connections that stay open: the feed lets them go when this server ends it, but
/// another server may, and nobody tells when a life is over.
pub(crate) async fn ends(app: &App, session: &Session) {
    while !session.has_ended(app).await {
        tokio::time::sleep(app.limits().stream_heartbeat).await;
    }
}

/// One request's session, found out at most once.
#[derive(Debug, Clone)]
pub(crate) struct Visit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    request: RequestId,
    from: IpAddr,
    offered: Option<SessionKey>,
    /// The token that it was sent with.
    token: Option<Sent>,
    /// What the route needs.
    need: OnceLock<Need>,
    /// An operator was found.
    was_operator: OnceLock<()>,
    /// What a browser that has signed in brings.
    signed_in: Option<SessionKey>,
    known: OnceCell<Option<Session>>,
    /// Made by this request for somebody without a session.
    fresh: OnceCell<(Secret, Session)>,
    /// Whether the fresh one is in the store: only then it has a cookie.
    written: OnceCell<()>,
    /// Ended by this request.
    ended: OnceLock<()>,
    /// Signed in or out by this request.
    operator_made: OnceLock<Secret>,
    operator_ended: OnceLock<()>,
}

impl Visit {
    /// The session that the request came with, if it lives. A token that is wrong is refused, never ignored.
    pub(crate) async fn known(&self, app: &App) -> Result<Option<Session>, Refusal> {
        let known = self.0.known.get_or_try_init(|| async {
            let operator = self.find_operator(app).await?;
            let own = match self.0.offered {
                Some(key) if lives(app, key, app.limits().session).await?.is_some() => {
                    Some(Session::of(key, self.0.request)?)
                }
                Some(_) | None => None,
            };
            match operator {
                Some(operator) => {
                    // A token is looked at first, and alone.
                    let signed_in = self.0.signed_in.filter(|_| self.0.token.is_none());
                    Session::of_operator(own, operator, signed_in, self.0.request).map(Some)
                }
                None => Ok(own),
            }
        });
        known.await.cloned()
    }

    /// The operator who asks, if it is one.
    pub(crate) async fn operator(&self, app: &App) -> Result<Option<Operator>, Refusal> {
        Ok(self.known(app).await?.and_then(|session| session.operator))
    }

    /// From where the request came.
    pub(crate) fn address(&self) -> IpAddr {
        self.0.from
    }

    /// Whether an operator asks. One who claims nothing is not looked up, and a claim that cannot be checked is none.
    pub(crate) async fn is_operator(&self, app: &App) -> bool {
        let claims = self.0.token.is_some() || self.0.signed_in.is_some();
        claims && self.operator(app).await.is_ok_and(|operator| operator.is_some())
    }

    /// Whether it turned out on the way that an operator asks, also one who may not do that.
    fn was_operator(&self) -> bool {
        self.0.was_operator.get().is_some()
    }

    async fn find_operator(&self, app: &App) -> Result<Option<Operator>, Refusal> {
        if let Some(token) = &self.0.token {
            // One who has been wrong too often is not even looked at.
            let wrong = &app.meters().wrong_keys;
            wrong.check(&self.0.from).map_err(too_often)?;
            if let Some(operator) = operator::bearer(app, token).await? {
                let _ = self.0.was_operator.set(());
                let need = self.need();
                let enough = operator.scope().covers(need.scope);
                return if enough { Ok(Some(operator)) } else { Err(need.refused(operator)) };
            }
            app.meters().wrong_key(self.0.from, token)?;
            tracing::warn!(event = "operator.refused", address = %self.0.from, "a wrong token");
            return Err(operator::needed());
        }
        let Some(key) = self.0.signed_in else { return Ok(None) };
        let Some(row) = lives(app, key, app.limits().operator_session).await? else { return Ok(None) };
        let operator = match row.token {
            None => Some(Operator::SIGNED_IN),
            Some(token) => operator::signed_in_with(app, token).await?,
        };
        if operator.is_some() {
            let _ = self.0.was_operator.set(());
        }
        let need = self.need();
        match operator {
            Some(operator) if !operator.scope().covers(need.scope) => match need.operators_only {
                true => Err(need.refused(operator)),
                // A person who may only look as an operator may still do what anybody may with their own.
                false => Ok(None),
            },
            operator => Ok(operator),
        }
    }

    /// Says what the route needs, before anybody asks who it is.
    pub(crate) fn needs(&self, need: Need) {
        let _ = self.0.need.set(need);
    }

    fn need(&self) -> Need {
        self.0.need.get().copied().unwrap_or(Need { scope: Scope::Read, operators_only: false })
    }

    /// The operator's cookie goes with this answer.
    pub(crate) fn sign_in(&self, secret: Secret) {
        let _ = self.0.operator_made.set(secret);
    }

    /// Whether the request came with an operator's cookie, good or not.
    pub(crate) fn has_signed_in(&self) -> bool {
        self.0.signed_in.is_some()
    }

    /// The operator's cookie is taken away with this answer; what it stood for is to be ended.
    pub(crate) fn sign_out(&self) -> Option<SessionKey> {
        let _ = self.0.operator_ended.set(());
        self.0.signed_in
    }

    /// The session that the request came with, or a fresh one.
    async fn open(&self, app: &App) -> Result<Session, Refusal> {
        let session = self.known_or_fresh(app).await?;
        self.write(app).await?;
        Ok(session)
    }

    /// The session that the request came with, or a fresh one that is not written yet.
    async fn known_or_fresh(&self, app: &App) -> Result<Session, Refusal> {
        if let Some(session) = self.known(app).await? {
            return Ok(session);
        }
        let fresh = self.0.fresh.get_or_try_init(|| async {
            app.meters().sessions.take(&self.0.from, 1.0).map_err(too_often)?;
            let secret = Secret::fresh()?;
            let session = Session::of(secret.key(), self.0.request)?;
            Ok::<_, Refusal>((secret, session))
        });
        fresh.await.map(|(_, session)| session.clone())
    }

    /// Whether the session of the request is in the store.
    fn is_written(&self) -> bool {
        self.0.fresh.get().is_none() || self.0.written.initialized()
    }

    /// Writes a fresh session, once. Its cookie goes with the answer.
    async fn write(&self, app: &App) -> Result<(), Refusal> {
        let Some((_, session)) = self.0.fresh.get() else { return Ok(()) };
        let written = self.0.written.get_or_try_init(|| app.desk().open_session(session.key));
        written.await.copied()
    }

    /// The secret of a session that this request has begun, for its cookie.
    fn begun(&self) -> Option<&Secret> {
        let written = self.0.written.initialized();
        self.0.fresh.get().filter(|_| written).map(|(secret, _)| secret)
    }

    /// The cookie is taken away with this answer.
    pub(crate) fn end(&self) {
        let _ = self.0.ended.set(());
    }
}

/// Whether a session lives; when it was last seen is noted now and then.
async fn lives(app: &App, key: SessionKey, life: SessionLife) -> Result<Option<SessionRow>, Refusal> {
    let Some(row) = app.desk().session(key, life).await? else { return Ok(None) };
    if row.unseen >= app.limits().seen_every {
        app.desk().touch_session(key).await?;
    }
    Ok(Some(row))
}

/// Makes the visit of each request, and sets its cookies.
pub(crate) async fn visit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let (jar, headers) = (app.jar(), request.headers());
    let peer = Peer::of(request.extensions(), headers, &app.limits().trusted_proxies);
    let signed_in = jar.operator().secret(headers);
    let visit = Visit(Arc::new(Inner {
        request: request.extensions().get().copied().unwrap_or_else(RequestId::fresh),
        from: peer.0,
        offered: jar.secret(headers).map(|secret| secret.key()),
        token: operator::sent_token(headers),
        need: OnceLock::new(),
        was_operator: OnceLock::new(),
        signed_in: signed_in.map(|secret| app.operators().session_key(&secret)),
        known: OnceCell::new(),
        fresh: OnceCell::new(),
        written: OnceCell::new(),
        ended: OnceLock::new(),
        operator_made: OnceLock::new(),
        operator_ended: OnceLock::new(),
    }));
    request.extensions_mut().insert(peer);
    request.extensions_mut().insert(visit.clone());
    let mut response = next.run(request).await;
    if visit.was_operator() {
        // For the page that a refusal may become.
        response.extensions_mut().insert(Viewer::operator(&app));
    }
    let cookie = |jar: Jar, ended: &OnceLock<()>, made: Option<&Secret>, life: SessionLife| match (
        ended.get(),
        made,
    ) {
        (Some(()), _) => jar.removed(),
        (None, Some(secret)) => jar.cookie(secret, life.absolute),
        (None, None) => None,
    };
    let (inner, limits) = (&visit.0, app.limits());
    let cookies = [
        cookie(jar, &inner.ended, visit.begun(), limits.session),
        cookie(jar.operator(), &inner.operator_ended, inner.operator_made.get(), limits.operator_session),
    ];
    for cookie in cookies.into_iter().flatten() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

impl FromRequestParts<App> for Visit {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refusal> {
        let missing = || Refusal::new(Code::SystemInternal, "This route has no sessions.");
        parts.extensions.get::<Self>().cloned().ok_or_else(missing)
    }
}

/// The session of the request; begun when there is none.
impl FromRequestParts<App> for Session {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let visit = Visit::from_request_parts(parts, app).await?;
        visit.open(app).await
    }
}
