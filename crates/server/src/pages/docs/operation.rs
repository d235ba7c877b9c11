//! One operation: what it takes, the command, what it answers.

use maud::{Markup, html};
use redrive_api::PROBLEM_JSON;
use redrive_model::Code;
use serde_json::Value;

use super::{Operation, curl, object, pretty, schema, text};

/// Problems that follow from what a route is, and when. See `openapi::problems`.
const COMMON: [(&str, &str); 8] = [
    ("AUTH_REQUIRED", "a token that is wrong; for operators' operations, also none"),
    ("AUTH_CROSS_SITE", "a browser sent something that changes something from another site"),
    ("REQUEST_TIMEOUT", "a body came too slowly"),
    ("VALIDATION_TOO_LARGE", "a body is larger than any that can be meant"),
    ("RATE_LIMITED", "too often; Retry-After says when to come again"),
    ("SYSTEM_INTERNAL", "a fault of ours"),
    ("SYSTEM_UNAVAILABLE", "the database does not answer"),
    ("ANSWER_TIMEOUT", "the answer took longer than it may"),
];

/// Its part of the page.
pub(super) fn section(operation: &Operation<'_>, tag: &str, at: &str) -> Markup {
    let said = operation.said;
    html! {
        section.operation #(operation.anchor()) {
            h2 { code { (operation.name()) } }
            p {
                (text(said, "/summary"))
                @let more = text(said, "/description");
                @if !more.is_empty() { " " (more) }
                " " span.fine { (tag) (who(said)) }
            }
            (takes(said))
            (body(said))
            h3 { "Try it" }
            pre tabindex="0" aria-label={ "Command for " (operation.name()) } { (curl::command(operation, at)) }
            @if operation.method == "get" && !operation.path.contains('{') {
                p { a href=(operation.path) { "Open it here" } }
            }
            h3 { "Answers" }
            dl.codes {
                @for (status, answer) in object(said, "/responses").iter().filter(|(_, answer)| !is_common(answer)) {
                    div {
                        dt { code { (status) } }
                        dd { (linked(text(answer, "/description"))) " " (shown(operation, status, answer)) }
                    }
                }
            }
        }
    }
}

/// Who may use it.
fn who(said: &Value) -> &'static str {
    let ways = said.get("security").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_free = ways.iter().any(|way| way.as_object().is_some_and(serde_json::Map::is_empty));
    match (ways.is_empty(), is_free) {
        (true, _) => " · for everybody",
        (false, true) => " · for your session, and for operators",
        (false, false) => " · for operators",
    }
}

fn takes(said: &Value) -> Markup {
    let parameters = said.get("parameters").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    html! {
        @if !parameters.is_empty() {
            h3 { "Takes" }
            dl.codes {
                @for parameter in parameters {
                    div {
                        dt { code { (text(parameter, "/name")) } " " span.fine { (text(parameter, "/in")) } }
                        dd {
                            (text(parameter, "/description")) " "
                            span.fine { (schema::kind_of(parameter.get("schema").unwrap_or(&Value::Null))) }
                        }
                    }
                }
            }
        }
    }
}

fn body(said: &Value) -> Markup {
    html! {
        @for (media, body) in object(said, "/requestBody/content") {
            p {
                "Body: " code { (media) } " " (schema::kind_of(body.get("schema").unwrap_or(&Value::Null))) ". "
                (text(said, "/requestBody/description"))
            }
        }
    }
}

/// Whether an answer says nothing that is not said for all of them.
fn is_common(answer: &Value) -> bool {
    let codes = object(answer, "/content/application~1problem+json/examples");
    !codes.is_empty() && codes.keys().all(|code| COMMON.iter().any(|(common, _)| common == code))
}

/// What every operation may answer, told once.
pub(super) fn common() -> Markup {
    html! {
        dl.codes {
            @for (code, when) in COMMON {
                @let status = Code::parse(code).map(|code| code.entry().http_status).unwrap_or_default();
                div {
                    dt { code { (status) } " " a href={ "/failures/" (code) } { (code) } }
                    dd { (when) }
                }
            }
        }
    }
}

/// What an answer's bodies are. What has a name is shown under it; a problem leads to the page of its code.
fn shown(operation: &Operation<'_>, status: &str, answer: &Value) -> Markup {
    html! {
        @for (media, body) in object(answer, "/content") {
            @let schema = body.get("schema").unwrap_or(&Value::Null);
            @if media != PROBLEM_JSON { span.fine { (media) " " (schema::kind_of(schema)) " " } }
            @if let Some(example) = body.get("example").filter(|_| !is_named(schema)) {
                details {
                    summary { "Example" }
                    pre tabindex="0" aria-label={ "Answer " (status) " of " (operation.name()) } { (pretty(example)) }
                }
            }
        }
    }
}

/// Whether such a thing, or each of a list, is told under its own name.
fn is_named(schema: &Value) -> bool {
    schema.get("$ref").is_some() || schema.pointer("/items/$ref").is_some()
}

/// Words in which every code leads to its page.
fn linked(words: &str) -> Markup {
    let is_part = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let mut pieces = Vec::new();
    let mut rest = words;
    while !rest.is_empty() {
        let inside = rest.starts_with(is_part);
        let end = rest.find(|letter| is_part(letter) != inside).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push((piece, inside && Code::parse(piece).is_some()));
        rest = after;
    }
    html! {
        @for (piece, is_code) in pieces {
            @if is_code { a href={ "/failures/" (piece) } { (piece) } } @else { (piece) }
        }
    }
}
