//! Tokens: who has one, what it may do, and a form that makes one. The page that answers the form is the only one that ever shows a token.

use std::time::Duration;

use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{MadeToken, NewToken, PageQuery, Token};
use redrive_model::Timestamp;
use redrive_store::Scope;
use serde::Deserialize;

use super::super::layout::{Place, Shell};
use super::super::viewer::Viewer;
use super::super::words::time;
use super::{Pressed, why};
use crate::app::App;
use crate::operator::Operator;
use crate::query;
use crate::refusal::Refusal;
use crate::tokens;

/// What the form says.
#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pages) struct Typed {
    #[serde(default)]
    name: String,
    #[serde(default)]
    scope: String,
    /// Nothing: it does not end.
    #[serde(default)]
    days: String,
}

/// The page.
pub(in crate::pages) async fn page(
    State(app): State<App>,
    operator: Operator,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    show(&app, operator, query::page(query.as_deref())?, &Typed::default(), None, None).await
}

/// Makes a token, and shows it this once.
pub(in crate::pages) async fn make(
    State(app): State<App>,
    operator: Operator,
    form: Result<Form<Typed>, FormRejection>,
) -> Result<Response, Refusal> {
    let typed = super::read(form)?;
    match made(&app, operator, &typed).await {
        Ok(token) => show(&app, operator, PageQuery::default(), &Typed::default(), None, Some(&token)).await,
        // What was typed is shown again, with what is wrong with it.
        Err(refusal) if refusal.problem().status == 400 => {
            let page =
                show(&app, operator, PageQuery::default(), &typed, Some(&refusal.problem().detail), None)
                    .await?;
            Ok(super::flawed(&refusal, page))
        }
        Err(refusal) => Err(refusal),
    }
}

async fn made(app: &App, operator: Operator, typed: &Typed) -> Result<MadeToken, Refusal> {
    let now = app.desk().now().await?;
    let expires_at = match typed.days.trim() {
        "" => None,
        days => Some(after(now, days).ok_or_else(|| Refusal::field("days", "is a number from 1 to 3650"))?),
    };
    let wanted = NewToken { name: typed.name.clone(), scope: typed.scope.clone(), expires_at };
    tokens::made(app, operator, wanted).await
}

fn after(now: Timestamp, days: &str) -> Option<Timestamp> {
    let days = days.parse::<u32>().ok().filter(|days| (1..=3_650).contains(days))?;
    now.checked_add(Duration::from_secs(u64::from(days) * 86_400)).ok()
}

/// Takes a token back, and shows the list again.
pub(in crate::pages) async fn revoke(
    State(app): State<App>,
    operator: Operator,
    id: Result<Path<String>, PathRejection>,
    form: Result<Form<Pressed>, FormRejection>,
) -> Result<Response, Refusal> {
    let (id, pressed) = (tokens::named(id)?, super::read(form)?);
    if pressed.act != "revoke" {
        return Err(super::odd());
    }
    tokens::revoked(&app, operator, id, pressed.because()).await?;
    Ok(Redirect::to("/tokens").into_response())
}

async fn show(
    app: &App,
    operator: Operator,
    asked: PageQuery,
    typed: &Typed,
    flaw: Option<&str>,
    fresh: Option<&MadeToken>,
) -> Result<Response, Refusal> {
    let list = tokens::page(app, operator, asked).await?;
    let body = html! {
        h1 { "Tokens" }
        p.lead {
            "Programs and people come in as operators with a token. Each may do no more than its scope says, and one that is taken back opens "
            "nothing from that moment on. The token that the server was set up with is not in this list."
        }
        @if let Some(made) = fresh {
            section.notice role="status" aria-label="The new token" {
                p { strong { "The token " (made.of.name) " is made." } " It is shown this once: copy it now and keep it safe." }
                p { code #token { (made.token) } }
            }
        }
        (form(typed, flaw))
        @if list.tokens.is_empty() {
            div.empty { p { "No token was made yet." } }
        } @else {
            table.plain-table.stacks {
                thead {
                    tr {
                        th scope="col" { "Token" } th scope="col" { "May" } th scope="col" { "How it is" } th scope="col" { "Made" }
                        th scope="col" { "Last used" } th scope="col" { "Acts" }
                    }
                }
                tbody { @for token in &list.tokens { (row(token)) } }
            }
        }
        nav.pages aria-label="More tokens" {
            @if let Some(next) = &list.next_cursor { a href={ "/tokens?cursor=" (next) } rel="next" { "More" } }
        }
    };
    Ok(Shell::new("Tokens", Viewer::operator(app)).at(Place::Tokens).page(&body))
}

fn form(typed: &Typed, flaw: Option<&str>) -> Markup {
    let (invalid, described) = (flaw.map(|_| "true"), flaw.map(|_| "flaw"));
    let words = |scope| match scope {
        Scope::Read => "read: look at everything",
        Scope::Act => "act: also retry, cancel, replay, hold, drain",
        Scope::Admin => "admin: also settings, tokens, who is told",
    };
    html! {
        form.add method="post" action="/tokens" {
            div {
                label for="name" { "Name" }
                input #name name="name" type="text" value=(typed.name) required maxlength="40" autocomplete="off" spellcheck="false"
                    aria-invalid=[invalid] aria-describedby=[described];
            }
            div {
                label for="scope" { "May" }
                select #scope name="scope" {
                    @for scope in Scope::ALL {
                        option value=(scope.as_str()) selected[typed.scope == scope.as_str()] { (words(scope)) }
                    }
                }
            }
            div {
                label for="days" { "Good for days" }
                input #days name="days" type="number" min="1" max="3650" value=(typed.days) placeholder="without end";
            }
            button { "Make a token" }
            @if let Some(flaw) = flaw { p.why #flaw role="alert" { "No token was made: " (flaw) } }
        }
    }
}

fn row(token: &Token) -> Markup {
    let (tone, word) = match token.state.as_str() {
        "good" => ("is-good", "Good"),
        "expired" => ("is-off", "Expired"),
        _ => ("is-off", "Taken back"),
    };
    html! {
        tr {
            th scope="row" { bdi { (token.name) } " " span.fine { (token.id) } }
            td { (token.scope) }
            td {
                strong.toned.(tone) { (word) }
                @if let Some(at) = token.revoked_at { p.fine { (time(at)) } }
                @else if let Some(end) = token.expires_at { p.fine { "until " (time(end)) } }
            }
            td data-of="Made" { (time(token.made_at)) p.fine { "by " bdi { (token.made_by) } } }
            td data-of="Last used" { @if let Some(at) = token.used_at { (time(at)) } @else { "never" } }
            td {
                @if token.state == "good" {
                    form.inline method="post" action={ "/tokens/" (token.id) } {
                        button.quiet name="act" value="revoke" aria-label={ "Take back " (token.name) } { "Take back" } " "
                        (why(&token.id))
                    }
                }
            }
        }
    }
}
