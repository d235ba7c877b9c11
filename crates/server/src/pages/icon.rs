//! A shape for each state, so that nobody needs to tell colours apart.

use maud::{Markup, PreEscaped, html};
use redrive_model::Shown;

use super::words;

/// The state as a shape and its word.
pub(super) fn state(shown: Shown) -> Markup {
    html! {
        span.state.(class(shown)) { (shape(shown)) (words::state(shown)) }
    }
}

/// The class that gives a state its colour.
pub(super) const fn class(shown: Shown) -> &'static str {
    match shown {
        Shown::Queued | Shown::Scheduled | Shown::WaitingBatch => "is-waiting",
        Shown::WaitingRetry | Shown::Held => "is-delayed",
        Shown::Processing => "is-running",
        Shown::Complete => "is-good",
        Shown::Partial | Shown::Failed => "is-bad",
        Shown::Cancelled => "is-off",
    }
}

/// The shape alone, for eyes only.
fn shape(shown: Shown) -> Markup {
    let path = match shown {
        // An empty circle.
        Shown::Queued | Shown::WaitingBatch => r#"<circle cx="8" cy="8" r="5.5"/>"#,
        // A clock.
        Shown::Scheduled => r#"<circle cx="8" cy="8" r="6"/><path d="M8 4.5V8l2.5 1.5"/>"#,
        // An arrow that comes back.
        Shown::WaitingRetry => r#"<path d="M13 8a5 5 0 1 1-1.6-3.7"/><path d="M13.5 2v3.2h-3.2"/>"#,
        // Two bars.
        Shown::Held => r#"<path d="M5.5 3.5v9M10.5 3.5v9" stroke-width="2.4"/>"#,
        // A circle that is being filled.
        Shown::Processing => {
            r#"<circle cx="8" cy="8" r="5.5"/><path class="fill" d="M8 2.5a5.5 5.5 0 0 1 0 11z"/>"#
        }
        // A tick.
        Shown::Complete => r#"<path d="M3 8.5l3.2 3.2L13 4.8" stroke-width="2.2"/>"#,
        // Half of it.
        Shown::Partial => r#"<path d="M3 8h10" stroke-width="2.2"/>"#,
        // A cross.
        Shown::Failed => r#"<path d="M4 4l8 8M12 4l-8 8" stroke-width="2.2"/>"#,
        // A circle with a stroke through it.
        Shown::Cancelled => r#"<circle cx="8" cy="8" r="5.5"/><path d="M4.2 11.8l7.6-7.6"/>"#,
    };
    html! {
        svg.shape viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" { (PreEscaped(path)) }
    }
}
