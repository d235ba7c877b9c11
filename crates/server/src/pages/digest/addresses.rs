//! Who is told: the list of addresses, and a form for each act.

use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{Notification, WhichNotification};
use redrive_model::Code;
use serde::Deserialize;

use super::super::intake::siblings;
use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use crate::app::App;
use crate::digest::digests;
use crate::digest::notifications::{all, set, take_out};
use crate::operator::Operator;
use crate::refusal::Refusal;

/// What a form says.
#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct Typed {
    #[serde(default)]
    owner: String,
    #[serde(default)]
    address: String,
    #[serde(default)]
    act: String,
}

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    _: Operator,
    viewer: Viewer,
) -> Result<Response, Refusal> {
    show(&app, viewer, &Typed::default(), None).await
}

/// Adds, switches or removes, and shows the list again.
pub(in crate::pages) async fn change(
    State(app): State<App>,
    operator: Operator,
    viewer: Viewer,
    form: Result<Form<Typed>, FormRejection>,
) -> Result<Response, Refusal> {
    let odd = || Refusal::new(Code::ValidationMalformed, "The form cannot be read.");
    let Form(typed) = form.map_err(|_| odd())?;
    let Typed { owner, address, act } = typed.clone();
    let done = match act.as_str() {
        "add" | "enable" => {
            set(&app, operator, Notification { owner, address, enabled: true }).await.map(drop)
        }
        "disable" => set(&app, operator, Notification { owner, address, enabled: false }).await.map(drop),
        "remove" => take_out(&app, operator, WhichNotification { owner, address }).await,
        _ => Err(odd()),
    };
    match done {
        Ok(()) => Ok(Redirect::to("/notifications").into_response()),
        // What was typed is shown again, with what is wrong with it.
        Err(refusal) if refusal.problem().status == 400 && typed.act == "add" => {
            let page = show(&app, viewer, &typed, Some(&refusal.problem().detail)).await?;
            Ok((StatusCode::BAD_REQUEST, page).into_response())
        }
        Err(refusal) => Err(refusal),
    }
}

async fn show(app: &App, viewer: Viewer, typed: &Typed, flaw: Option<&str>) -> Result<Response, Refusal> {
    let list = all(digests(app)?).await?.notifications;
    let body = html! {
        h1 { "Who gets the digest" }
        p.lead {
            "An owner is who uploaded a file. Those without an address of their own are told by the addresses of "
            strong { "default" } ". " a href="/digest" { "What would be sent" }
        }
        (siblings("/notifications"))
        (form(typed, flaw))
        @if list.is_empty() {
            div.empty { p { "There is no address yet: nobody would be told by mail." } }
        } @else {
            table.plain-table.stacks.who {
                thead { tr { th scope="col" { "Owner" } th scope="col" { "Address" } th scope="col" { "Acts" } } }
                tbody { @for one in &list { (row(one)) } }
            }
        }
    };
    Ok(Shell::new("Who gets the digest", viewer).at(Place::Intake).page(&body))
}

fn form(typed: &Typed, flaw: Option<&str>) -> Markup {
    let (invalid, described) = (flaw.map(|_| "true"), flaw.map(|_| "flaw"));
    html! {
        form.add method="post" action="/notifications" {
            div { label for="owner" { "Owner" } input #owner name="owner" type="text" value=(typed.owner) required maxlength="255" autocomplete="off" spellcheck="false"; }
            div {
                label for="address" { "Address" }
                input #address name="address" type="email" value=(typed.address) required maxlength="255" autocomplete="off"
                    aria-invalid=[invalid] aria-describedby=[described];
            }
            button name="act" value="add" { "Add" }
            @if let Some(flaw) = flaw { p.why #flaw role="alert" { "Nothing was added: " (flaw) } }
        }
    }
}

fn row(one: &Notification) -> Markup {
    let switch = if one.enabled { ("disable", "Switch off") } else { ("enable", "Switch on") };
    let act = |(act, word): (&str, &str)| {
        html! {
            form.inline method="post" action="/notifications" {
                input type="hidden" name="owner" value=(one.owner);
                input type="hidden" name="address" value=(one.address);
                button.quiet name="act" value=(act) aria-label={ (word) " " (one.address) " of " (one.owner) } { (word) }
            }
        }
    };
    html! {
        tr {
            th scope="row" { bdi { (one.owner) } }
            td { bdi { (one.address) } @if !one.enabled { " " span.fine { "switched off" } } }
            td { (act(switch)) " " (act(("remove", "Remove"))) }
        }
    }
}
