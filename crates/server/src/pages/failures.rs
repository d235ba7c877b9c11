//! The registry for people: what each code means and what to do about it.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::Response;
use maud::html;
use redrive_model::failure::{Category, REGISTRY};
use redrive_model::{Code, text};

use super::layout::{Place, Shell, sentences};
use super::viewer::Viewer;
use crate::refusal::Refusal;

/// All codes by family.
pub(super) async fn list(viewer: Viewer) -> Response {
    let body = html! {
        h1 { "What failures mean" }
        p.lead { "Every failure has a code. Each says what happened, what we do about it and what you can do." }
        @for category in Category::ALL {
            @let entries = REGISTRY.iter().filter(|entry| entry.category == *category);
            section {
                h2.family { (category.as_str()) }
                dl.codes {
                    @for entry in entries {
                        div {
                            dt { a href={ "/failures/" (entry.name) } { (entry.name) } }
                            dd { (entry.what_happened) }
                        }
                    }
                }
            }
        }
    };
    Shell::new("What failures mean", viewer).at(Place::Failures).page(&body)
}

/// One code.
pub(super) async fn one(
    viewer: Viewer,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Refusal> {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let Some(code) = Code::parse(&name.to_ascii_uppercase()) else {
        let name = text::one_line(&name, 64, false);
        return Err(Refusal::new(Code::NotFound, format!("No failure code is called {name:?}.")));
    };
    let entry = code.entry();
    let body = html! {
        p.fine.crumb { a href="/failures" { "All failure codes" } }
        h1 { (entry.what_happened) }
        p { code { (entry.name) } }
        (sentences(code, None))
        dl.facts {
            div { dt { "Family" } dd { (entry.category.as_str()) } }
            div { dt { "Kind" } dd { (entry.class.as_str()) } }
            div { dt { "Tried again by itself" } dd { (entry.retries) } }
            div { dt { "HTTP status" } dd { (entry.http_status) } }
            @if entry.public != code {
                div { dt { "Shown as" } dd { a href={ "/failures/" (entry.public.name()) } { (entry.public.name()) } } }
            }
        }
    };
    Ok(Shell::new(entry.name, viewer).at(Place::Failures).page(&body))
}
