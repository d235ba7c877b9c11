//! Who looks at a page, as far as its navigation wants to know. Whoever cannot be asked about is a stranger: no page fails for it.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::app::App;
use crate::session::Visit;

/// Somebody in front of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Viewer {
    /// May see everything.
    pub(super) operator: bool,
    /// There is a folder or bucket of people to look at.
    pub(super) intake: bool,
}

impl Viewer {
    /// Anybody.
    pub(super) const STRANGER: Self = Self { operator: false, intake: false };

    /// An operator of this server.
    pub(crate) fn operator(app: &App) -> Self {
        Self { operator: true, intake: app.desk().has_intake() }
    }
}

impl FromRequestParts<App> for Viewer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let visit = parts.extensions.get::<Visit>().cloned();
        let operator = match visit {
            Some(visit) => visit.is_operator(app).await,
            None => false,
        };
        Ok(if operator { Self::operator(app) } else { Self::STRANGER })
    }
}
