//! What this server runs with, and what the doctor says of it. For operators alone.
//!
//! The server reads no settings and knows no doctor: whoever puts it together hands both in ([`SettingsParts`]).

mod kept;
mod surgery;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use futures::future::BoxFuture;
use redrive_api::{Examination, Finding, Problem, SettingList};
use redrive_model::Code;

use crate::app::App;
use crate::operator::Operator;
use crate::refusal::Refusal;
pub use kept::in_force;
pub(crate) use surgery::Surgery;

/// Looks at everything and says what is wrong.
pub type Examine = Arc<dyn Fn() -> BoxFuture<'static, Vec<Finding>> + Send + Sync>;

/// What operators are told about the server itself.
pub struct SettingsParts {
    /// The settings that it was started with; secrets are masked already.
    pub list: SettingList,
    /// The doctor; without one the routes of examinations say that there is none.
    pub examine: Option<Examine>,
}

impl Default for SettingsParts {
    /// Nothing is told.
    fn default() -> Self {
        let list = SettingList { settings: Vec::new(), proxy_pools: Vec::new(), warnings: Vec::new() };
        Self { list, examine: None }
    }
}

/// Every setting with its value in force and where that came from. Secrets are masked.
#[utoipa::path(get, path = "/api/settings", tag = "operators", responses((status = 200, body = SettingList)))]
pub(crate) async fn list(State(app): State<App>, operator: Operator) -> Json<SettingList> {
    Json(app.desk().in_force(operator, app.settings().clone()).await)
}

/// What the doctor found when it last looked, and whether it is looking now.
#[utoipa::path(get, path = "/api/doctor", tag = "operators", responses(
    (status = 200, body = Examination),
    (status = 404, description = "NOT_FOUND: this server has no doctor", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn findings(State(app): State<App>, _: Operator) -> Result<Json<Examination>, Refusal> {
    Ok(Json(surgery(&app)?.newest()))
}

/// Has the doctor look at everything: settings, folders, files, targets, every job. One looks at a time; while one does, this starts no
/// other. It goes on after the answer.
#[utoipa::path(post, path = "/api/doctor", tag = "operators", responses(
    (status = 202, body = Examination),
    (status = 404, description = "NOT_FOUND: this server has no doctor", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn examine(
    State(app): State<App>,
    operator: Operator,
) -> Result<(StatusCode, Json<Examination>), Refusal> {
    start(&app, operator).await?;
    Ok((StatusCode::ACCEPTED, Json(surgery(&app)?.newest())))
}

/// Starts an examination unless one is under way.
pub(crate) async fn start(app: &App, operator: Operator) -> Result<(), Refusal> {
    let (surgery, now) = (surgery(app)?, app.desk().now().await?);
    let desk = app.desk().clone();
    app.desk().examined(operator, || surgery.start(now, async move { desk.now().await.ok() })).await
}

/// Whoever examines here.
pub(crate) fn surgery(app: &App) -> Result<&Surgery, Refusal> {
    app.surgery()
        .ok_or_else(|| Refusal::new(Code::NotFound, "This server was put together without a doctor."))
}
