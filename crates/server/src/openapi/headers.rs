//! The header that every answer has, the id of its request; and the one that makes what is done safe to repeat.

use serde_json::{Value, json};

/// How answers of this document call it.
const NAME: &str = "X-Request-Id";

/// What is said of the other one.
const KEY: &str = "Makes the request safe to repeat, for a week: the same request with the same key is carried out once, and answered like the first, with \
                   `Idempotent-Replayed: true`. A request that was refused has not used its key";

/// Says so once, and at every answer of every operation; and at each that is done once under a key.
pub(super) fn complete(document: &mut Value) {
    for costs in crate::routes::costs().into_iter().filter(|costs| costs.once) {
        let method = costs.info.method.as_str().to_lowercase();
        let paths = document.get_mut("paths").and_then(|paths| paths.get_mut(costs.info.path));
        let operation = paths.and_then(|path| path.get_mut(&method)).and_then(Value::as_object_mut);
        let parameters =
            operation.map(|operation| operation.entry("parameters").or_insert_with(|| json!([])));
        if let Some(parameters) = parameters.and_then(Value::as_array_mut) {
            let schema = json!({"type": "string", "minLength": 1, "maxLength": 255});
            let key = json!({"name": "Idempotency-Key", "in": "header", "required": false, "description": KEY, "schema": schema});
            parameters.push(key);
        }
    }
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
    fn what_is_done_once_under_a_key_says_so() {
        let document = openapi();
        let takes_key = |path: &str| {
            let operation = &document["paths"][path]["post"];
            let mut parameters = operation["parameters"].as_array().into_iter().flatten();
            parameters.any(|parameter| parameter["name"] == "Idempotency-Key" && parameter["in"] == "header")
        };
        assert!(takes_key("/api/upload") && takes_key("/api/replays") && takes_key("/api/jobs/{id}/retry"));
        assert!(!takes_key("/api/simulate") && !takes_key("/sign-in"));
    }

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
