//! One schema: its fields, and what each looks like.

use maud::{Markup, html};
use serde_json::Value;

use super::{object, pretty, text};

/// Its part of the page.
pub(super) fn section(name: &str, schema: &Value) -> Markup {
    html! {
        section.operation #{ "schema-" (name) } {
            h3 { (name) }
            p { (text(schema, "/description")) }
            dl.codes {
                @for (field, about) in object(schema, "/properties") {
                    div {
                        dt { code { (field) } " " span.fine { (kind_of(about)) } }
                        dd { (text(about, "/description")) (such_as(schema, field)) }
                    }
                }
            }
        }
    }
}

/// What a plain field looks like; what is made of others is shown there.
fn such_as(schema: &Value, field: &str) -> Markup {
    let example = schema.get("example").and_then(|example| example.get(field));
    let plain = example.filter(|it| it.is_string() || it.is_number() || it.is_boolean());
    html! { @if let Some(example) = plain { " " span.fine { "such as " code { (pretty(example)) } } } }
}

/// The kind of a value: a word, or the name of what it is made of.
pub(super) fn kind_of(schema: &Value) -> Markup {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return html! { a href={ "#schema-" (name) } { (name) } };
    }
    if let Some(items) = schema.get("items") {
        return html! { "list of " (kind_of(items)) };
    }
    let one_of = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    if let Some(kinds) = one_of {
        return html! { @for kind in kinds { (kind_of(kind)) " " } };
    }
    match schema.get("type") {
        Some(Value::String(word)) => html! { (word) },
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            html! { (words.join(" or ")) }
        }
        _ => html! {},
    }
}
