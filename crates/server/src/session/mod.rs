//! Who asks: an anonymous session, made on the first visit and kept in a cookie.
//!
//! A request is looked at only when a handler wants to know ([`Visit::known`]), and a session is begun only when one is needed
//! ([`Visit::open`]). An id that we did not make, or whose time is over, is never adopted: its bearer gets a fresh one.

mod cookie;
mod secret;

use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use redrive_model::{Code, Owner};
use redrive_store::SessionKey;
use tokio::sync::OnceCell;

use crate::app::App;
use crate::rates::{address, too_often};
use crate::refusal::Refusal;

pub(crate) use cookie::Jar;
pub(crate) use secret::Secret;

/// A session that lives. The only thing that opens jobs.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    key: SessionKey,
    owner: Owner,
}

impl Session {
    fn of(key: SessionKey) -> Result<Self, Refusal> {
        // Half of the hash is enough to be the only one, and useless to whoever reads it.
        let half = key.as_bytes().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
        let owner = Owner::new(format!("s:{half}"))
            .map_err(|_| Refusal::new(Code::SystemInternal, "A session has no owner."))?;
        Ok(Self { key, owner })
    }

    /// Whose jobs these are.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Its key in the store.
    pub(crate) fn key(&self) -> SessionKey {
        self.key
    }
}

/// One request's session, found out at most once.
#[derive(Debug, Clone)]
pub(crate) struct Visit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    offered: Option<SessionKey>,
    known: OnceCell<Option<Session>>,
    opened: OnceCell<Session>,
    /// Made by this request, for its cookie.
    made: OnceLock<Secret>,
    /// Ended by this request.
    ended: OnceLock<()>,
}

impl Visit {
    /// The session that the request came with, if it lives.
    pub(crate) async fn known(&self, app: &App) -> Result<Option<Session>, Refusal> {
        let Some(key) = self.0.offered else { return Ok(None) };
        let known = self.0.known.get_or_try_init(|| async {
            let limits = app.limits();
            let Some(row) = app.desk().session(key, limits.session).await? else { return Ok(None) };
            if row.unseen >= limits.seen_every {
                app.desk().touch_session(key).await?;
            }
            Session::of(key).map(Some)
        });
        known.await.cloned()
    }

    /// The session that the request came with, or a fresh one.
    async fn open(&self, app: &App, from: std::net::IpAddr) -> Result<Session, Refusal> {
        if let Some(session) = self.known(app).await? {
            return Ok(session);
        }
        let opened = self.0.opened.get_or_try_init(|| async {
            app.meters().sessions.take(&from, 1.0).map_err(too_often)?;
            let secret = Secret::fresh()?;
            let session = Session::of(secret.key())?;
            app.desk().open_session(session.key).await?;
            let _ = self.0.made.set(secret);
            Ok::<_, Refusal>(session)
        });
        opened.await.cloned()
    }

    /// The cookie goes with this answer.
    pub(crate) fn end(&self) {
        let _ = self.0.ended.set(());
    }
}

/// Makes the visit of each request, and sets its cookie.
pub(crate) async fn visit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let jar = app.jar();
    let offered = jar.secret(request.headers()).map(|secret| secret.key());
    let visit = Visit(Arc::new(Inner {
        offered,
        known: OnceCell::new(),
        opened: OnceCell::new(),
        made: OnceLock::new(),
        ended: OnceLock::new(),
    }));
    request.extensions_mut().insert(visit.clone());
    let mut response = next.run(request).await;
    let cookie = match (visit.0.ended.get(), visit.0.made.get()) {
        (Some(()), _) => Some(jar.removed()),
        (None, Some(secret)) => jar.cookie(secret, app.limits().session.absolute),
        (None, None) => None,
    };
    if let Some(cookie) = cookie {
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
        visit.open(app, address(&parts.extensions)).await
    }
}
