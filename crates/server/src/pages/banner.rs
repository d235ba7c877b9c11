//! What is wrong for everybody: the converter lets nobody pass, or no upload is taken. It comes and goes by itself.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, PreEscaped, html};
use redrive_api::Breaker;
use redrive_model::Timestamp;
use redrive_model::breaker::Mode;

use super::words::{count, countdown, time};
use crate::app::App;
use crate::pulse::{self, Look};

/// The piece alone.
pub(super) async fn piece(State(app): State<App>) -> Response {
    super::html(banner(&app).await)
}

/// What is to be said now, often nothing. A store that is away is said by the page itself.
pub(super) async fn banner(app: &App) -> Markup {
    let Ok(look) = app.pulse().look(app.desk()).await else { return html! {} };
    let closed = pulse::accepting(app, 0).await.err();
    html! {
        @for breaker in look.breakers.iter().filter(|breaker| is_shut(breaker, &look)) {
            (shut(breaker, look.at))
        }
        @if let Some(refusal) = closed {
            div.banner data-banner="uploads" {
                (bars())
                p { strong { "No uploads just now." } " " (refusal.problem().detail) " Jobs that are already here go on." }
            }
        }
    }
}

/// What tells one banner from another; the time left is not part of it.
pub(super) async fn signature(app: &App) -> String {
    let Ok(look) = app.pulse().look(app.desk()).await else { return String::new() };
    let open = pulse::accepting(app, 0).await.is_ok();
    let shut = look.breakers.iter().filter(|breaker| is_shut(breaker, &look));
    let shut: Vec<_> =
        shut.map(|b| format!("{} {} {:?} {}", b.target, b.state, b.next_probe_at, b.held_jobs)).collect();
    format!("{open} {}", shut.join(" "))
}

/// Whether a breaker keeps everybody's jobs waiting. One whose time is over and for which nobody waits keeps nobody.
fn is_shut(breaker: &Breaker, look: &Look) -> bool {
    if !pulse::is_everybodys(&breaker.target) {
        return false;
    }
    let queue = &look.queue;
    match breaker.state.as_str() {
        "half_open" | "held" | "throttled" => true,
        "open" => {
            breaker.next_probe_at.is_some_and(|at| at > look.at)
                || queue.ready + queue.held + queue.waiting_retry > 0
        }
        _ => false,
    }
}

fn shut(breaker: &Breaker, now: Timestamp) -> Markup {
    let what = match (breaker.target.as_str(), breaker.state.as_str()) {
        (redrive_convert::TARGET, "held") => "The converter was stopped by an operator",
        (_, "held") => "A service we need was stopped by an operator",
        (redrive_convert::TARGET, _) => "Converter busy",
        ("disk", _) => "Storage is full",
        (_, _) => "A service we need is busy",
    };
    let fails = breaker.mode == Mode::FailFast.as_str();
    html! {
        div.banner data-banner=(breaker.target) {
            (bars())
            p {
                strong {
                    (what)
                    @if breaker.state == "held" { ". Jobs wait and are not lost." }
                    @else if fails { ", new jobs fail at once. Retry them later." }
                    @else { ", jobs will resume automatically" }
                }
                span.fine {
                    "Since " (time(breaker.since))
                    @if breaker.held_jobs > 0 { " · " (count(breaker.held_jobs, "job waits", "jobs wait")) " and no attempt is lost" }
                    @match (breaker.state.as_str(), breaker.next_probe_at) {
                        ("half_open", _) => " · trying one job now",
                        (_, Some(at)) => { " · next try " (countdown(at, now)) }
                        (_, None) => {}
                    }
                }
            }
        }
    }
}

fn bars() -> Markup {
    let path = r#"<path d="M5.5 3.5v9M10.5 3.5v9" stroke-width="2.4"/>"#;
    html! { svg.shape viewBox="0 0 16 16" width="20" height="20" aria-hidden="true" { (PreEscaped(path)) } }
}
