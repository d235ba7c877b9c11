//! The door for browsers: a page with one field, which works without JavaScript.
//!
//! A link with a code shows the page and changes nothing; the button spends the code. So neither the history of a browser nor a
//! log holds anything that is still good. It leads to the page that was wanted, or to the overview.

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::{Operator, Sent, Wanted, bearer, needed};
use crate::app::App;
use crate::pages::sign_in;
use crate::peer::Peer;
use crate::rates::too_often;
use crate::refusal::Refusal;
use crate::session::{Ended, Secret, Visit};

/// What the link brings.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Link {
    /// The one-time code that `serve` printed.
    code: Option<String>,
    /// The page of this server that was wanted.
    to: Option<String>,
}

/// What the form sends.
#[derive(Deserialize, utoipa::ToSchema)]
pub(crate) struct Key {
    /// A one-time code or a token of operators.
    key: String,
    /// The page of this server that was wanted.
    #[serde(default)]
    to: String,
}

/// The sign-in page.
#[utoipa::path(get, path = "/sign-in", tag = "operators", params(Link),
    responses((status = 200, description = "A page with one field", content_type = "text/html", body = String)))]
pub(crate) async fn page(link: Result<Query<Link>, QueryRejection>) -> Response {
    let link = link.map(|Query(link)| link).unwrap_or_default();
    sign_in(&link.code.unwrap_or_default(), &Wanted::of(&link.to.unwrap_or_default()), None)
}

/// Signs a browser in.
#[utoipa::path(post, path = "/sign-in", tag = "operators",
    request_body(content = Key, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 303, description = "Signed in: the cookie is set; on to the page that was wanted"),
        (status = 401, description = "The page again: neither a code nor a token that is still good", content_type = "text/html", body = String),
        (status = 429, description = "RATE_LIMITED")))]
pub(crate) async fn enter(
    State(app): State<App>,
    visit: Visit,
    Peer(from): Peer,
    form: Result<Form<Key>, FormRejection>,
) -> Result<Response, Refusal> {
    let (key, place) = form.map(|Form(form)| (form.key, form.to)).unwrap_or_default();
    let (sent, wanted) = (Sent::of(key.trim()), Wanted::of(&place));
    // One who has been wrong too often is not even looked at.
    app.meters().wrong_keys.check(&from).map_err(too_often)?;
    let operator = bearer(&app, &sent).await?;
    if operator.is_none() && !app.operators().spend(sent.hash()) {
        app.meters().wrong_key(from, &sent)?;
        tracing::warn!(event = "operator.refused", address = %from, "a sign-in with a wrong key");
        let text = "This is neither a token of operators that is good nor a code that is still good. A code works once, for 15 minutes; \
                    serve prints a new one each time it starts.";
        return Ok((StatusCode::UNAUTHORIZED, sign_in("", &wanted, Some(text))).into_response());
    }
    let secret = Secret::fresh()?;
    let key = app.operators().session_key(&secret);
    match operator.and_then(Operator::token) {
        None => app.desk().open_session(key).await?,
        Some(token) => {
            if !app.desk().open_token_session(key, token).await? {
                return Err(needed());
            }
        }
    }
    visit.sign_in(secret);
    let by = operator.unwrap_or(Operator::SIGNED_IN).name();
    tracing::info!(event = "operator.signed_in", address = %from, by);
    Ok(to(wanted.as_str()))
}

/// Signs a browser out. What it listens to ends.
#[utoipa::path(post, path = "/sign-out", tag = "operators", responses((status = 303, description = "The cookie is gone")))]
pub(crate) async fn leave(State(app): State<App>, visit: Visit) -> Result<Response, Refusal> {
    if let Some(key) = visit.sign_out() {
        app.desk().end_key(key).await?;
        app.feed().let_go(Ended::Session(key)).await;
    }
    Ok(to("/"))
}

fn to(place: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}
