//! Settings and where they came from, and what the doctor found.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use redrive_api::{Examination, Finding, FindingLevel, Setting, SettingList};

use super::layout::{Place, Shell};
use super::viewer::Viewer;
use super::words::{count, time_exactly};
use crate::app::App;
use crate::operator::Operator;
use crate::refusal::Refusal;
use crate::settings::{start, surgery};

/// Whoever pressed the button waits so long for the result; a longer examination goes on without them.
const PATIENCE: Duration = Duration::from_secs(10);

/// The page.
pub(super) async fn page(State(app): State<App>, operator: Operator) -> Response {
    let list = app.desk().in_force(operator, app.settings().clone()).await;
    let examination = app.surgery().map(|surgery| surgery.newest());
    let body = html! {
        h1 { "Settings" }
        p.lead { "What this server runs with, and whether everything around it is well." }
        @if let Some(examination) = &examination { (doctor(examination)) }
        (settings(&list))
    };
    Shell::new("Settings", Viewer::operator(&app)).at(Place::Settings).page(&body)
}

/// Has the doctor look, and shows what it found.
pub(super) async fn examine(State(app): State<App>, operator: Operator) -> Result<Response, Refusal> {
    start(&app, operator).await?;
    surgery(&app)?.wait(PATIENCE).await;
    Ok(Redirect::to("/settings#doctor").into_response())
}

fn doctor(examination: &Examination) -> Markup {
    let of = |level| examination.findings.iter().filter(move |one| one.level == level).count() as u64;
    let (bad, notes) = (of(FindingLevel::Bad), of(FindingLevel::Note));
    html! {
        section #doctor aria-label="Doctor" {
            h2 { "Doctor" }
            p {
                @match (examination.finished_at, bad, notes) {
                    (None, _, _) => "It has not looked since this server was started.",
                    (Some(_), 0, 0) => { strong.toned.is-good { "Everything is well." } }
                    (Some(_), 0, _) => { strong.toned.is-good { "Nothing is wrong" } ", and " (count(notes, "thing is", "things are")) " worth a look." }
                    (Some(_), _, _) => { strong.toned.is-bad { (count(bad, "thing is", "things are")) " wrong." } }
                }
                @if let Some(at) = examination.finished_at { " " span.fine { "Looked at " (time_exactly(at)) "." } }
            }
            @if let Some(since) = examination.running_since {
                p.remark role="status" { "It has been looking since " (time_exactly(since)) ". " a href="/settings#doctor" { "See whether it is done" } }
            } @else {
                form method="post" action="/settings" { button { "Look at everything now" } }
            }
            @if !examination.findings.is_empty() {
                table.plain-table.stacks.findings {
                    thead { tr { th scope="col" { "Check" } th scope="col" { "How it is" } th scope="col" { "What was found" } } }
                    tbody {
                        // What needs somebody stands first.
                        @for level in [FindingLevel::Bad, FindingLevel::Note, FindingLevel::Good] {
                            @for found in examination.findings.iter().filter(|one| one.level == level) { (finding(found)) }
                        }
                    }
                }
            }
        }
    }
}

fn finding(found: &Finding) -> Markup {
    let (tone, word) = match found.level {
        FindingLevel::Good => ("is-good", "Well"),
        FindingLevel::Note => ("is-delayed", "Worth a look"),
        FindingLevel::Bad => ("is-bad", "Wrong"),
    };
    html! {
        tr {
            th scope="row" { (found.check) }
            td { strong.toned.(tone) { (word) } }
            td {
                bdi { (found.what) }
                @if let Some(next) = &found.next { p.next { "→ " bdi { (next) } } }
            }
        }
    }
}

fn settings(list: &SettingList) -> Markup {
    let sections = list.settings.chunk_by(|one, other| one.section == other.section);
    html! {
        section #settings aria-label="Settings in force" {
            h2 { "In force" }
            p.fine {
                "Flags win over the environment, the environment over " code { "redrive.toml" } ", that over defaults. "
                "They are read once, when the server is started; what was changed since is kept in the store, and wins over all of them. "
                "Secrets are never shown."
            }
            @for warning in &list.warnings { p.remark { bdi { (warning) } } }
            @for section in sections {
                @if let Some(first) = section.first() {
                    h3 { (first.section) }
                    table.plain-table.stacks.settings {
                        thead { tr { th scope="col" { "Setting" } th scope="col" { "Value" } th scope="col" { "From" } } }
                        tbody { @for setting in section { (row(setting)) } }
                    }
                }
            }
            @if !list.proxy_pools.is_empty() {
                h3 { "Proxies" }
                table.plain-table.stacks.settings {
                    thead { tr { th scope="col" { "Pool" } th scope="col" { "Proxies" } th scope="col" { "Then" } } }
                    tbody {
                        @for pool in &list.proxy_pools {
                            tr {
                                th scope="row" { bdi { (pool.name) } }
                                td data-of="Proxies" { (pool.proxies) }
                                td { bdi { (pool.fallbacks.join(", ")) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Words in which names stand between marks, as the documentation has them.
fn marked(text: &str) -> Markup {
    html! {
        @for (n, part) in text.split('`').enumerate() {
            @if n % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn row(setting: &Setting) -> Markup {
    let from = match setting.origin.as_str() {
        "flag" => "flag",
        "env" => "environment",
        "file" => "file",
        "demo" => "demo",
        "store" => "store, changed at run time",
        _ => "default",
    };
    html! {
        tr {
            th scope="row" { code { (setting.name) } p.fine { (marked(&setting.about)) } }
            td {
                @match (&setting.value, &setting.unset) {
                    (Some(value), _) => { bdi { code { (value) } } }
                    (None, Some(unset)) => { span.fine { "unset: " (marked(unset)) } }
                    (None, None) => { span.fine { "unset" } }
                }
            }
            td {
                @if from == "default" { span.fine { "default" } } @else { strong { (from) } }
                @if let Some(at) = &setting.at { " " span.fine { bdi { (at) } } }
                @if !setting.used { " " span.fine { "not used yet" } }
            }
        }
    }
}
