//! An operator: how the door knows them, what they may do, by which request, and how the audit trail calls them.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use redrive_engine::By;
use redrive_model::Code;
use redrive_store::{Scope, Standing, TokenId, TokenName, TokenRow};

use super::Sent;
use crate::app::App;
use crate::refusal::Refusal;
use crate::request::RequestId;
use crate::session::Visit;

/// One who may see every job, and what else they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operator {
    came: Came,
    scope: Scope,
    /// What they ask by; whoever has not come by one yet acts on nothing.
    request: Option<RequestId>,
}

/// How they came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    /// With the lasting token.
    Lasting,
    /// With the local token of this start.
    Local,
    /// By a browser that has signed in with a code or the lasting token.
    SignedIn,
    /// With a token of the list; perhaps by a browser that has signed in with it.
    Token { id: TokenId, name: TokenName, signed_in: bool },
}

impl Operator {
    /// One with the lasting token.
    pub(super) const LASTING: Self = Self { came: Came::Lasting, scope: Scope::Admin, request: None };
    /// One with the local token.
    pub(super) const LOCAL: Self = Self { came: Came::Local, scope: Scope::Admin, request: None };
    /// One whose browser has signed in.
    pub(crate) const SIGNED_IN: Self = Self { came: Came::SignedIn, scope: Scope::Admin, request: None };

    /// One with a token of the list, while it is good.
    pub(crate) fn with(row: &TokenRow, signed_in: bool) -> Option<Self> {
        match row.standing {
            Standing::Good => {
                let came = Came::Token { id: row.id, name: row.name, signed_in };
                Some(Self { came, scope: row.scope, request: None })
            }
            Standing::Expired | Standing::Revoked => None,
        }
    }

    /// How the audit trail calls them: by the name and the id of a token, never by the token.
    pub(crate) fn name(self) -> String {
        match self.came {
            Came::Lasting => "operator (token)".to_owned(),
            Came::Local => "operator (local)".to_owned(),
            Came::SignedIn => "operator (signed in)".to_owned(),
            Came::Token { id, name, signed_in: false } => format!("token {} ({id})", name.as_str()),
            Came::Token { id, name, signed_in: true } => format!("token {} ({id}), signed in", name.as_str()),
        }
    }

    /// Whose idempotency keys theirs are: a token's are the same wherever it is used.
    pub(crate) fn holder(self) -> String {
        match self.came {
            Came::Token { id, .. } => format!("token {id}"),
            Came::Lasting | Came::Local | Came::SignedIn => self.name(),
        }
    }

    /// The same, asking by this request.
    pub(crate) const fn asking(self, request: RequestId) -> Self {
        Self { request: Some(request), ..self }
    }

    /// Who acts, as the trail has it: by name, scope and request, and why.
    pub(crate) fn by(self, reason: Option<String>) -> By {
        let by = By::new(self.name()).scoped(self.scope);
        let by = self.request.iter().fold(by, |by, request| by.request(request.to_string()));
        reason.into_iter().fold(by, By::because)
    }

    /// What they may do.
    pub(crate) const fn scope(self) -> Scope {
        self.scope
    }

    /// The token of the list that all of this depends on.
    pub(crate) const fn token(self) -> Option<TokenId> {
        match self.came {
            Came::Token { id, .. } => Some(id),
            Came::Lasting | Came::Local | Came::SignedIn => None,
        }
    }
}

/// Whose token this is. What is no token of ours by its look is not looked for.
pub(crate) async fn bearer(app: &App, sent: &Sent) -> Result<Option<Operator>, Refusal> {
    if let Some(operator) = app.operators().bearer(sent.hash()) {
        return Ok(Some(operator));
    }
    if !sent.is_whole() {
        return Ok(None);
    }
    let found = app.desk().token(TokenId::of(sent.hash().as_bytes())).await?;
    // The row was found by the beginning of its hash; all of it is compared, in the same time wherever it differs.
    let Some(row) = found.filter(|row| sent.hash().is_hash(&row.hash)) else { return Ok(None) };
    let operator = Operator::with(&row, false);
    if operator.is_some() {
        used(app, &row).await;
    }
    Ok(operator)
}

/// Whose browser this is, when it signed in with a token of the list.
pub(crate) async fn signed_in_with(app: &App, token: TokenId) -> Result<Option<Operator>, Refusal> {
    let Some(row) = app.desk().token(token).await? else { return Ok(None) };
    let operator = Operator::with(&row, true);
    if operator.is_some() {
        used(app, &row).await;
    }
    Ok(operator)
}

/// Notes now and then that a token was used. That it cannot be noted is no reason to refuse anybody.
async fn used(app: &App, row: &TokenRow) {
    if row.unused.is_some_and(|unused| unused < app.limits().seen_every) {
        return;
    }
    if let Err(refusal) = app.desk().touch_token(row.id).await {
        tracing::warn!(event = "operator.use_not_noted", token = %row.id, error_code = refusal.code());
    }
}

/// The one answer for a token that is wrong, expired or taken back, and for none.
pub(crate) fn needed() -> Refusal {
    Refusal::new(Code::AuthRequired, "Send Authorization: Bearer TOKEN, or sign in at /sign-in.")
}

/// The answer to one whose scope does not suffice.
pub(crate) fn too_small(has: Scope, needed: Scope) -> Refusal {
    Refusal::new(Code::AuthScope, format!("Your token has the scope {has}; this needs the scope {needed}."))
}

/// An operator; everybody else is refused. What the route needs was looked at on the way.
impl FromRequestParts<App> for Operator {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let visit = Visit::from_request_parts(parts, app).await?;
        visit.operator(app).await?.ok_or_else(needed)
    }
}
