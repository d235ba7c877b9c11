//! `/api/notifications`: who is told, by which address.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use redrive_api::{Notification, NotificationList, Problem, WhichNotification};
use redrive_intake::digest::{AddressError, Digests};
use redrive_model::Code;
use redrive_store::intake;

use super::digests;
use crate::app::App;
use crate::body::Said;
use crate::deadline::to_its_end;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The most addresses that are set at once: so many fit into a small body, and each is written on its own.
const MOST: usize = 500;

/// Who is told, sorted by owner and address.
#[utoipa::path(get, path = "/api/notifications", tag = "operators", responses(
    (status = 200, body = NotificationList),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(State(app): State<App>, _: Operator) -> Result<Json<NotificationList>, Refusal> {
    all(digests(&app)?).await.map(Json)
}

/// Sets all addresses: those that are not in the list are removed.
#[utoipa::path(put, path = "/api/notifications", tag = "operators", request_body = NotificationList, responses(
    (status = 200, body = NotificationList),
    (status = 400, description = "VALIDATION_*: nothing was changed", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn replace(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<Json<NotificationList>, Refusal> {
    let digests = digests(&app)?.clone();
    let wanted = body.json::<NotificationList>()?.notifications;
    if wanted.len() > MOST {
        return Err(Refusal::new(
            Code::ValidationTooMany,
            format!("At most {MOST} addresses are set at once."),
        ));
    }
    // All of them before any of them.
    let wanted: Vec<intake::Notification> =
        wanted.into_iter().map(|one| Digests::checked(stored(one))).collect::<Result<_, _>>()?;
    let list = to_its_end(async move {
        digests.set_notifications(&wanted, &operator.by(None)).await?;
        all(&digests).await
    });
    list.await.map(Json)
}

/// Adds one address, or switches it on or off.
#[utoipa::path(post, path = "/api/notifications", tag = "operators", request_body = Notification, responses(
    (status = 200, description = "As it is kept", body = Notification),
    (status = 400, description = "VALIDATION_*", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn add(
    State(app): State<App>,
    operator: Operator,
    body: Said,
) -> Result<Json<Notification>, Refusal> {
    let one = body.json::<Notification>()?;
    set(&app, operator, one).await.map(Json)
}

/// The same for a page.
pub(crate) async fn set(app: &App, operator: Operator, one: Notification) -> Result<Notification, Refusal> {
    let digests = digests(app)?.clone();
    let kept =
        to_its_end(async move { Ok(digests.set_notification(stored(one), &operator.by(None)).await?) });
    kept.await.map(shown)
}

/// Removes one address.
#[utoipa::path(delete, path = "/api/notifications", tag = "operators", params(WhichNotification), responses(
    (status = 204, description = "It is gone"),
    (status = 400, description = "VALIDATION_MISSING_FIELD", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "NOT_FOUND: there is no such address, or this server has no INTAKE_URL", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn remove(
    State(app): State<App>,
    operator: Operator,
    which: Result<Query<WhichNotification>, QueryRejection>,
) -> Result<StatusCode, Refusal> {
    let missing = |_| Refusal::new(Code::ValidationMissingField, "The query says owner and address.");
    let Query(which) = which.map_err(missing)?;
    take_out(&app, operator, which).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The same for a page.
pub(crate) async fn take_out(app: &App, operator: Operator, which: WhichNotification) -> Result<(), Refusal> {
    let digests = digests(app)?.clone();
    let there = to_its_end(async move {
        let by = operator.by(None);
        Ok(digests.remove_notification(which.owner.trim(), which.address.trim(), &by).await?)
    });
    match there.await? {
        true => Ok(()),
        false => Err(Refusal::new(Code::NotFound, "There is no such address for this owner.")),
    }
}

/// Who is told.
pub(crate) async fn all(digests: &Digests) -> Result<NotificationList, Refusal> {
    let notifications = digests.notifications().await?.into_iter().map(shown).collect();
    Ok(NotificationList { notifications })
}

fn stored(one: Notification) -> intake::Notification {
    intake::Notification { owner: one.owner, address: one.address, enabled: one.enabled }
}

fn shown(one: intake::Notification) -> Notification {
    Notification { owner: one.owner, address: one.address, enabled: one.enabled }
}

impl From<AddressError> for Refusal {
    fn from(error: AddressError) -> Self {
        match error {
            AddressError::Engine(error) => error.into(),
            AddressError::Owner => Self::field("owner", &error.to_string()),
            error => Self::field("address", &error.to_string()),
        }
    }
}
