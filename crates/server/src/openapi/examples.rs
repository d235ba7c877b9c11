//! An example for every body and every answer, put together from one of each field: `examples.json` says what a field looks like, by its
//! name, or by `Schema.field` where the same name means different things.
//!
//! So a new field needs one line there, and a test says which.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// What fields look like.
static FIELDS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());
/// An instant like any other.
const INSTANT: &str = "2026-11-18T10:02:03.123Z";
/// Schemas do not go deeper; one that contains itself ends here.
const DEEPEST: usize = 8;

/// Adds an example wherever there is a schema and none yet.
pub(super) fn fill(document: &mut Value) {
    let schemas = document.pointer("/components/schemas").cloned().unwrap_or_default();
    let maker = Maker { schemas: &schemas };
    let each = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    for (name, schema) in each.into_iter().flatten() {
        let example = maker.example(schema, name, "", 0);
        if let Some(schema) = schema.as_object_mut().filter(|schema| !schema.contains_key("example")) {
            schema.insert("example".to_owned(), example);
        }
    }
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let operations = paths.into_iter().flatten().filter_map(|(_, path)| path.as_object_mut()).flatten();
    for (_, operation) in operations {
        if let Some(content) = operation.pointer_mut("/requestBody/content") {
            maker.show(content);
        }
        let answers = operation.get_mut("responses").and_then(Value::as_object_mut);
        for (_, answer) in answers.into_iter().flatten() {
            if let Some(content) = answer.get_mut("content") {
                maker.show(content);
            }
        }
    }
}

struct Maker<'a> {
    schemas: &'a Value,
}

impl Maker<'_> {
    /// Gives each media type of a body an example.
    fn show(&self, content: &mut Value) {
        for (media, body) in content.as_object_mut().into_iter().flatten() {
            let Some(body) = body.as_object_mut() else { continue };
            if body.contains_key("example") || body.contains_key("examples") {
                continue;
            }
            let example = match (media.as_str(), body.get("schema")) {
                ("application/xml", _) => "<document/>".into(),
                ("text/event-stream", _) => {
                    "id: 42\nevent: complete\ndata: {\"sequence\":42,\"type\":\"complete\"}\n\n".into()
                }
                ("application/x-ndjson", Some(schema)) => match self.example(schema, "", "", 0) {
                    Value::String(text) => text.into(),
                    line => format!("{line}\n").into(),
                },
                // A page, or bytes: there is nothing to show.
                (
                    "text/html" | "application/x-protobuf" | "application/zip" | "application/octet-stream",
                    _,
                ) => continue,
                (_, Some(schema)) => self.example(schema, "", "", 0),
                (_, None) => continue,
            };
            body.insert("example".to_owned(), example);
        }
    }

    /// What such a thing looks like: a field of a schema, or a schema itself.
    fn example(&self, schema: &Value, owner: &str, field: &str, depth: usize) -> Value {
        if depth > DEEPEST {
            return Value::Null;
        }
        if let Some(known) = FIELDS.get(&format!("{owner}.{field}")).or_else(|| FIELDS.get(field)) {
            return known.clone();
        }
        if let Some(example) = schema.get("example") {
            return example.clone();
        }
        if let Some(name) =
            schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
        {
            let target = self.schemas.get(name).unwrap_or(&Value::Null);
            return self.example(target, name, "", depth + 1);
        }
        let list = |name: &str| schema.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if let Some(first) = list("enum").first() {
            return first.clone();
        }
        let is_null = |choice: &&Value| choice.get("type").and_then(Value::as_str) == Some("null");
        let choice = list("oneOf").iter().chain(list("anyOf")).find(|choice| !is_null(choice));
        if let Some(choice) = choice {
            return self.example(choice, owner, field, depth + 1);
        }
        let mut whole = Map::new();
        for part in list("allOf") {
            if let Value::Object(part) = self.example(part, owner, "", depth + 1) {
                whole.extend(part);
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            whole.insert(name.clone(), self.example(property, owner, name, depth + 1));
        }
        match kind(schema) {
            "array" => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                Value::Array(vec![self.example(items, owner, field, depth + 1)])
            }
            "string" if schema.get("format").and_then(Value::as_str) == Some("date-time") => INSTANT.into(),
            _ if !whole.is_empty() => whole.into(),
            "object" => Value::Object(whole),
            "string" => "text".into(),
            "integer" => 1.into(),
            "number" => 1.5.into(),
            "boolean" => false.into(),
            _ => Value::Null,
        }
    }
}

/// The type of a schema, the one that is not null.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests;
