use std::collections::BTreeSet;

use super::*;
use crate::openapi::openapi;

/// Each plain field of each schema: its schema, its name, itself.
fn plain_fields(document: &Value) -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for (schema, it) in document["components"]["schemas"].as_object().unwrap() {
        let mut parts = vec![it];
        parts.extend(it["allOf"].as_array().into_iter().flatten());
        for (name, field) in parts.into_iter().filter_map(|part| part["properties"].as_object()).flatten() {
            let plain = ["string", "integer", "number", "boolean"].contains(&kind(field));
            let says_itself =
                field["format"] == "date-time" || field["enum"].is_array() || !field["example"].is_null();
            if plain && !says_itself {
                found.push((schema.clone(), name.clone(), field.clone()));
            }
        }
    }
    found
}

fn fits(value: &Value, schema: &Value) -> bool {
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return true,
    };
    kinds.iter().any(|kind| match *kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    })
}

#[test]
fn every_field_has_an_example_of_its_type_and_no_example_is_left_over() {
    let document = openapi();
    let mut used = BTreeSet::new();
    for (schema, field, it) in plain_fields(document) {
        let own = format!("{schema}.{field}");
        let name = if FIELDS.contains_key(&own) { own.clone() } else { field.clone() };
        let value =
            FIELDS.get(&name).unwrap_or_else(|| panic!("examples.json has no {field} for {schema}: {it}"));
        assert!(fits(value, &it), "{own} cannot be {value}: {it}");
        used.insert(name);
    }
    // Those of whole things are for fields too.
    for (schema, it) in document["components"]["schemas"].as_object().unwrap() {
        let fields = it["properties"].as_object().into_iter().flatten();
        for (name, field) in fields {
            let own = format!("{schema}.{name}");
            let known = if FIELDS.contains_key(&own) { own } else { name.clone() };
            if let Some(value) = FIELDS.get(&known) {
                assert!(fits(value, field), "{schema}.{name} cannot be {value}: {field}");
                used.insert(known);
            }
        }
    }
    let spare: Vec<&String> = FIELDS.keys().filter(|name| !used.contains(*name)).collect();
    assert!(spare.is_empty(), "nothing has {spare:?}");
}

#[test]
fn every_body_and_every_answer_is_shown() {
    let document = openapi();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let mut contents = vec![&operation["requestBody"]["content"]];
            contents.extend(
                operation["responses"].as_object().unwrap().values().map(|answer| &answer["content"]),
            );
            for (media, body) in contents.into_iter().filter_map(Value::as_object).flatten() {
                let bytes =
                    ["text/html", "application/x-protobuf", "application/zip", "application/octet-stream"];
                let shown = !body["example"].is_null() || body["examples"].is_object();
                assert!(shown || bytes.contains(&media.as_str()), "{method} {path} {media}: {body}");
            }
        }
    }
}

#[test]
fn an_example_has_what_is_required() {
    let document = openapi();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let example = &schema["example"];
        for field in schema["required"].as_array().into_iter().flatten() {
            assert!(example.get(field.as_str().unwrap()).is_some(), "{name} lacks {field}: {example}");
        }
    }
}
