//! The OpenAPI document as a page: made from the document, so that it cannot say anything else.
//!
//! Every operation has a command that can be copied, what its body and its answers look like, and the code of each of its problems. Nothing is loaded
//! from elsewhere and nothing needs script: see ADR 9.

mod curl;
mod operation;
mod schema;

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::layout::{Place, Shell};
use super::viewer::Viewer;
use crate::app::App;
use crate::openapi::openapi;

/// One operation of the document.
struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    said: &'a Value,
}

impl Operation<'_> {
    /// Where on the page it is.
    fn anchor(&self) -> String {
        let path = self.path.trim_matches('/').replace(['/', '.'], "-").replace(['{', '}'], "");
        format!("{}-{path}", self.method)
    }

    /// As people write it.
    fn name(&self) -> String {
        format!("{} {}", self.method.to_uppercase(), self.path)
    }
}

/// The page.
pub(super) async fn page(State(app): State<App>, viewer: Viewer) -> Response {
    let document = openapi();
    let at = app.public_url().map_or("http://127.0.0.1:8080", |url| url.as_str()).trim_end_matches('/');
    let tags = tags(document);
    let body = html! {
        h1 { "API" }
        p.lead {
            (text(document, "/info/description"))
            " The same for programs: " a href="/api/openapi.json" { "OpenAPI 3.1" } "."
        }
        p {
            "Your session is a cookie, which " code { "curl" } " keeps in the file " code { "jar" }
            ". Operators send a token instead: " code { "TOKEN=…" } " first, then every command below can be copied as it is. "
            "A failure is a problem document with a " a href="/failures" { "code" } "."
        }
        nav aria-label="Operations" { (contents(&tags)) }
        h2 { "What every operation may answer" }
        (operation::common())
        @for (tag, operations) in &tags {
            @for operation in operations { (operation::section(operation, tag, at)) }
        }
        h2 #schemas { "What the answers hold" }
        @for (name, it) in object(document, "/components/schemas") { (schema::section(name, it)) }
    };
    Shell::new("API", viewer).at(Place::Docs).page(&body)
}

/// All operations, by what they are about.
fn tags(document: &Value) -> BTreeMap<&str, Vec<Operation<'_>>> {
    let mut tags: BTreeMap<&str, Vec<Operation<'_>>> = BTreeMap::new();
    for (path, methods) in object(document, "/paths") {
        for (method, said) in methods.as_object().into_iter().flatten() {
            tags.entry(text(said, "/tags/0")).or_default().push(Operation { path, method, said });
        }
    }
    tags
}

fn contents(tags: &BTreeMap<&str, Vec<Operation<'_>>>) -> Markup {
    html! {
        @for (tag, operations) in tags {
            h2 { (tag) }
            dl.codes {
                @for operation in operations {
                    div {
                        dt { a href={ "#" (operation.anchor()) } { code { (operation.name()) } } }
                        dd { (text(operation.said, "/summary")) }
                    }
                }
            }
        }
    }
}

/// What an example looks like.
fn pretty(example: &Value) -> String {
    match example {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn text<'a>(value: &'a Value, at: &str) -> &'a str {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// The members of what is there; none when nothing is.
fn object<'a>(value: &'a Value, at: &str) -> &'a Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.pointer(at).and_then(Value::as_object).unwrap_or(&NONE)
}
