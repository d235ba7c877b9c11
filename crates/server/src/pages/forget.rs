//! To be forgotten, by a plain form: what goes and what stays is said first.

use axum::extract::State;
use axum::response::Response;
use maud::html;

use super::layout::Shell;
use super::viewer::Viewer;
use crate::app::App;
use crate::jobs::forgotten;
use crate::refusal::Refusal;
use crate::session::Visit;

/// The question.
pub(super) async fn page(viewer: Viewer) -> Response {
    let body = html! {
        h1 { "Remove everything of mine" }
        p.lead { "Your PDFs and their XML are removed, and what has not ended is stopped. This cannot be taken back." }
        p { "What was fetched stays where it was asked to go. That there were jobs, and what their files were called, is kept for some weeks; \
             whoever runs this server can see it, and nobody else." }
        p.fine { "This is about what you brought with this browser. It is signed out, too." }
        form.actions method="post" action="/forget" {
            button { "Remove everything" }
            a.button.quiet href="/jobs" { "Keep it" }
        }
    };
    Shell::new("Remove everything of mine", viewer).page(&body)
}

/// It is done.
pub(super) async fn forget(State(app): State<App>, visit: Visit) -> Result<Response, Refusal> {
    forgotten(&app, visit).await?;
    let body = html! {
        h1 { "Everything of yours is removed" }
        p { "This browser begins anew." }
        p.actions { a.button href="/" { "Upload PDFs" } }
    };
    Ok(Shell::new("Everything of yours is removed", Viewer::STRANGER).page(&body))
}
