//! Who brings something: a session that lives, or a stranger of whom nothing is written until there is something to own.
//!
//! A crowd of strangers whose uploads never end costs the store nothing: no row, no read, no connection.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use redrive_model::{Code, Owner};

use super::{Session, Visit};
use crate::app::App;
use crate::refusal::Refusal;

/// Whoever brings something.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    visit: Visit,
    /// The session, or what it will be.
    session: Session,
}

impl Guest {
    /// Whose it will be.
    pub(crate) fn owner(&self) -> &Owner {
        self.session.owner()
    }

    /// From where.
    pub(crate) fn address(&self) -> IpAddr {
        self.visit.address()
    }

    /// Whether everything may be done.
    pub(crate) fn is_operator(&self) -> bool {
        self.session.is_operator()
    }

    /// The session, if it is there already; a stranger has nothing yet that could be looked at.
    pub(crate) fn known(&self) -> Option<&Session> {
        self.visit.is_written().then_some(&self.session)
    }

    /// The session, written if it was not: what it is to own comes after that. Refused when it has ended while something came for it.
    pub(crate) async fn keep(&self, app: &App) -> Result<Session, Refusal> {
        if self.visit.is_written() && self.session.has_ended(app).await {
            return Err(Refusal::new(Code::AuthRequired, "Your session has ended, so nothing was taken."));
        }
        self.visit.write(app).await?;
        Ok(self.session.clone())
    }
}

impl FromRequestParts<App> for Guest {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let visit = Visit::from_request_parts(parts, app).await?;
        let session = visit.known_or_fresh(app).await?;
        Ok(Self { visit, session })
    }
}
