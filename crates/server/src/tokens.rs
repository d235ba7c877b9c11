//! `/api/tokens`: who may come in as an operator besides the one with the lasting token, what they may do, and until when.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use redrive_api::{Because, MadeToken, NewToken, PageQuery, Problem, Token, TokenList};
use redrive_model::{Code, instant};
use redrive_store::{Scope, TokenId, TokenName, TokenRow};

use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::once::ToldOnce;
use crate::operator::{Fresh, Operator, fresh_token};
use crate::query;
use crate::refusal::Refusal;
use crate::session::Ended;

/// Tokens that were ever made, the newest first: also those that are expired or taken back. The lasting token is not one of them.
#[utoipa::path(get, path = "/api/tokens", tag = "operators", params(PageQuery), responses(
    (status = 200, body = TokenList),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    operator: Operator,
    RawQuery(asked): RawQuery,
) -> Result<Json<TokenList>, Refusal> {
    Ok(Json(page(&app, operator, query::page(asked.as_deref())?).await?))
}

/// A page of them.
pub(crate) async fn page(app: &App, operator: Operator, asked: PageQuery) -> Result<TokenList, Refusal> {
    let rows = app.desk().tokens(operator).await?;
    let (rows, next_cursor) = query::cut(rows, asked, |row| Cursor {
        made: Reverse(instant::to_millis(row.made_at)),
        id: row.id.to_string(),
    })?;
    Ok(TokenList { tokens: rows.into_iter().map(view).collect(), next_cursor })
}

/// The place of a token in the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    made: Reverse<i64>,
    id: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.made.0, self.id)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (made, id) = text.split_once('_').ok_or(())?;
        let id = id.parse::<TokenId>().map_err(drop)?;
        Ok(Self { made: Reverse(made.parse().map_err(drop)?), id: id.to_string() })
    }
}

/// Makes a token. This answer is the only one that ever holds it: with an `Idempotency-Key`, too, the same request again makes none, and is told which
/// one there is.
#[utoipa::path(post, path = "/api/tokens", tag = "operators", request_body = NewToken, responses(
    (status = 201, description = "The token, told this once", body = MadeToken),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "CONFLICT_STATE: it was made under this key before", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn make(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<(StatusCode, Extension<ToldOnce>, Json<MadeToken>), Refusal> {
    let made = made(&app, operator, body.json()?).await?;
    let text = format!(
        "Token {} was made by this request before, and is told once. Where nobody has it, take it back and make another, with a new key.",
        made.of.id
    );
    Ok((StatusCode::CREATED, Extension(ToldOnce(text)), Json(made)))
}

/// Makes one.
pub(crate) async fn made(app: &App, operator: Operator, wanted: NewToken) -> Result<MadeToken, Refusal> {
    let name = wanted.name.trim().parse::<TokenName>();
    let name = name.map_err(|error| Refusal::field("name", &error.to_string()))?;
    let scope =
        Scope::parse(&wanted.scope).ok_or_else(|| Refusal::field("scope", "is read, act or admin"))?;
    let desk = app.desk().clone();
    if let Some(end) = wanted.expires_at
        && end <= desk.now().await?
    {
        return Err(Refusal::field("expires_at", "lies in the past: such a token would open nothing"));
    }
    let Fresh { token, hash } = fresh_token().map_err(|error| {
        tracing::error!(event = "operator.no_randomness", "{error}");
        Refusal::new(Code::SystemUnavailable, "No token can be made just now.")
    })?;
    let new = redrive_store::NewToken {
        name,
        scope,
        hash: *hash.as_bytes(),
        expires_at: wanted.expires_at,
        by: operator.name(),
    };
    let row = to_its_end(async move {
        desk.add_token(operator, new).await?;
        // Two tokens whose hashes begin alike are as likely as none; should it happen, this one is not told.
        let kept = desk.token(TokenId::of(hash.as_bytes())).await?;
        kept.filter(|row| hash.is_hash(&row.hash))
            .ok_or_else(|| Refusal::new(Code::SystemUnavailable, "The token could not be kept: ask again."))
    });
    Ok(MadeToken { token, of: view(row.await?) })
}

/// Takes a token back, at once and for good. Browsers that signed in with it are signed out, and what it listens to ends.
#[utoipa::path(post, path = "/api/tokens/{id}/revoke", tag = "operators", params(("id" = String, Path, description = "The token's id")), request_body = Option<Because>, responses(
    (status = 200, description = "As it is then", body = Token),
    (status = 404, description = "NOT_FOUND", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn revoke(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
    body: Said,
) -> Result<Json<Token>, Refusal> {
    revoked(&app, operator, named(id)?, body.json()?).await.map(Json)
}

/// Takes one back, and answers how it is then.
pub(crate) async fn revoked(
    app: &App,
    operator: Operator,
    id: TokenId,
    Because { reason }: Because,
) -> Result<Token, Refusal> {
    let desk = app.desk().clone();
    let row = desk.token(id).await?.ok_or_else(missing)?;
    let done = to_its_end(async move {
        desk.revoke_token(operator, &row, reason).await?;
        desk.token(id).await?.ok_or_else(missing)
    });
    let row = done.await?;
    app.feed().let_go(Ended::Token(id)).await;
    Ok(view(row))
}

pub(crate) fn named(id: Result<Path<String>, PathRejection>) -> Result<TokenId, Refusal> {
    id.ok().and_then(|Path(text)| text.parse().ok()).ok_or_else(missing)
}

fn missing() -> Refusal {
    Refusal::new(Code::NotFound, "There is no token with this id.")
}

fn view(row: TokenRow) -> Token {
    Token {
        id: row.id.to_string(),
        name: row.name.as_str().to_owned(),
        scope: row.scope.as_str().to_owned(),
        state: row.standing.as_str().to_owned(),
        made_at: row.made_at,
        made_by: row.made_by,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
        used_at: row.used_at,
    }
}
