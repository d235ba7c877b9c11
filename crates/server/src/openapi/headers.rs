//! The header that every answer has: the id of its request.

use serde_json::{Value, json};

/// How answers of this document call it.
const NAME: &str = "X-Request-Id";

/// Says so once, and at every answer of every operation.
pub(super) fn complete(document: &mut Value) {
    let header = json!({"X-Request-Id": {
        "description": "Which request this was. A problem, the log and the audit trail have the same id.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "example": "5f0c3a9b7d2e4810",
    }});
    if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
        components.insert("headers".to_owned(), header);
    }
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let operations = paths.into_iter().flatten().filter_map(|(_, path)| path.as_object_mut()).flatten();
    for (_, operation) in operations {
        let answers = operation.get_mut("responses").and_then(Value::as_object_mut);
        for answer in answers.into_iter().flatten().filter_map(|(_, answer)| answer.as_object_mut()) {
            let headers = answer.entry("headers").or_insert_with(|| json!({}));
            if let Some(headers) = headers.as_object_mut() {
                headers.insert(NAME.to_owned(), json!({"$ref": "#/components/headers/X-Request-Id"}));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::openapi;

    #[test]
    fn every_answer_of_the_document_has_the_id_of_its_request() {
        let document = openapi();
        assert!(document["components"]["headers"]["X-Request-Id"]["schema"].is_object());
        let mut answers = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                for (status, answer) in operation["responses"].as_object().unwrap() {
                    answers += 1;
                    let header = &answer["headers"]["X-Request-Id"]["$ref"];
                    assert_eq!(header, "#/components/headers/X-Request-Id", "{method} {path} {status}");
                    let waits = status == "429";
                    assert!(!waits || answer["headers"]["Retry-After"].is_object(), "{method} {path}");
                }
            }
        }
        assert!(answers > 200, "{answers}");
    }
}
