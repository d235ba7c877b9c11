//! What operators look at, and do by plain forms: everything at a glance, failures by their cause, replays, targets, workers, the trail, tokens.

mod breakers;
mod chart;
mod group;
mod groups;
mod letters;
mod many;
mod overview;
mod panels;
mod replaying;
mod replays;
mod tokens;
mod trail;
mod turns;
mod workers;

pub(super) use breakers::{change as change_breaker, page as breakers};
pub(super) use group::{change as change_group, discard, page as group, replay};
pub(super) use groups::page as groups;
pub(super) use letters::change as change_letter;
pub(super) use many::{
    ask_cancel, ask_replay, cancel as cancel_many, counted_at_once, offers, replay as replay_many,
};
pub(super) use overview::page as overview;
pub(super) use replays::{change as change_replay, list as replays, one as one_replay};
pub(super) use tokens::{make as make_token, page as tokens, revoke as revoke_token};
pub(super) use trail::page as trail;
pub(super) use workers::{change as change_worker, page as workers, resume as resume_workload};

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use redrive_api::Because;
use redrive_model::Code;
use serde::Deserialize;

use super::banner::banner;
use super::layout::{Place, Shell};
use super::viewer::Viewer;
use crate::app::App;
use crate::query;
use crate::refusal::Refusal;

/// A button that was pressed, and why.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Pressed {
    #[serde(default)]
    act: String,
    #[serde(default)]
    reason: String,
}

impl Pressed {
    fn because(self) -> Because {
        Because { reason: query::given(Some(self.reason)) }
    }
}

/// What a form says.
fn read<T>(form: Result<Form<T>, FormRejection>) -> Result<T, Refusal> {
    form.map(|Form(typed)| typed).map_err(|_| odd())
}

fn odd() -> Refusal {
    Refusal::new(Code::ValidationMalformed, "The form cannot be read.")
}

/// A page that is kept fresh, or the piece of it that a script asks for.
async fn fresh(app: &App, headers: &HeaderMap, title: &str, place: Place, piece: Markup) -> Response {
    if super::wants_piece(headers) {
        return super::html(piece);
    }
    Shell::new(title, Viewer::operator(app)).at(place).live(banner(app).await, "/live").page(&piece)
}

/// A page that says what is wrong with what was typed.
fn flawed(refusal: &Refusal, page: Response) -> Response {
    let status = StatusCode::from_u16(refusal.problem().status).unwrap_or(StatusCode::BAD_REQUEST);
    (status, page).into_response()
}

/// Where people may say why in a row: folded away, so that a table stays one.
fn why(of: &str) -> Markup {
    html! {
        details class={ "because why-" (of) } {
            summary { "Reason" span.unseen { " for what you do to " (of) } }
            input id={ "why-" (of) } name="reason" type="text" maxlength="500" autocomplete="off" aria-label={ "Reason for what you do to " (of) };
        }
    }
}

/// Where people say why.
fn reason(id: &str, typed: &str) -> Markup {
    html! {
        div {
            label for=(id) { "Reason" }
            input id=(id) name="reason" type="text" value=(typed) maxlength="500" autocomplete="off";
        }
    }
}
