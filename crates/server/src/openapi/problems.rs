//! The problems that follow from what a route is and not from its handler: it is metered, it asks the store, it changes something, it
//! reads a body or a query. And for every problem of every answer an example, made from the registry.

use redrive_api::{PROBLEM_JSON, Problem};
use redrive_model::Code;
use serde_json::{Map, Value, json};

use crate::routes::{Access, Costs};

/// What stands for all codes that a question or a body can have wrong.
const ANY: &str = "VALIDATION_*";

/// What looks at files, and so depends on the place where they lie.
const FILES: &[(&str, &str)] = &[
    ("GET", "/api/jobs/{id}/download"),
    ("POST", "/api/jobs/{id}/retry"),
    ("GET", "/api/download.zip"),
    ("POST", "/api/dead-letters/{offset}/replay"),
    ("GET", "/api/intake/documents/{id}/report"),
    ("DELETE", "/api/session"),
];

/// Adds them to every operation.
pub(super) fn complete(document: &mut Value) {
    for costs in crate::routes::costs() {
        let method = costs.info.method.as_str().to_lowercase();
        let paths = document.get_mut("paths").and_then(|paths| paths.get_mut(costs.info.path));
        let Some(operation) = paths.and_then(|path| path.get_mut(&method)) else { continue };
        let validation = validation(operation);
        let follow = follow(&costs, operation);
        let Some(answers) = operation.get_mut("responses").and_then(Value::as_object_mut) else { continue };
        for (status, means) in follow {
            add(answers, status, means);
        }
        for (status, answer) in answers.iter_mut() {
            illustrate(status, answer, &validation);
        }
    }
}

/// Which problems follow, with their status.
fn follow(costs: &Costs, operation: &Value) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    if costs.metered {
        found.push(("429", "RATE_LIMITED: too often; `Retry-After` says when to come again"));
        if costs.info.access == Access::Everybody {
            found.push(("401", "AUTH_REQUIRED: an operator's token that is wrong"));
        }
        found.push(("500", "SYSTEM_INTERNAL: a fault of ours"));
        found.push(("503", "SYSTEM_UNAVAILABLE: the database does not answer"));
        found.push(("503", "ANSWER_TIMEOUT: the answer took longer than it may"));
    }
    if costs.once {
        found.push(("400", ANY));
        found.push(("409", "IDEMPOTENCY_IN_FLIGHT: another request with this key is not answered yet"));
        found.push(("422", "IDEMPOTENCY_MISMATCH: the key was used for another request"));
        // The body is part of what is asked under a key, also where nothing else reads it.
        found.push(("408", "REQUEST_TIMEOUT: the body came too slowly"));
        found.push(("413", "VALIDATION_TOO_LARGE: the body is larger than any that can be meant"));
    }
    if FILES.contains(&(costs.info.method.as_str(), costs.info.path)) {
        found.push(("500", "IO_ERROR: the disk does not do what it should"));
        found.push(("502", "STORAGE_ACCESS_DENIED: storage lets us not in"));
        found.push(("502", "UPLOAD_NO_BUCKET: the bucket is not there"));
        found.push(("503", "STORAGE_UNAVAILABLE: storage does not answer"));
        found.push(("503", "UPLOAD_THROTTLED: storage asks for time"));
    }
    if !costs.info.method.is_safe() {
        found.push(("403", "AUTH_CROSS_SITE: a browser sent it from another site"));
    }
    let content = operation.pointer("/requestBody/content").and_then(Value::as_object);
    if content.is_some_and(|content| content.contains_key("application/json")) {
        found.push(("400", ANY));
        found.push(("413", "VALIDATION_TOO_LARGE: the body is larger than any that can be meant"));
    }
    if content.is_some() {
        found.push(("408", "REQUEST_TIMEOUT: the body came too slowly"));
    }
    if parameters(operation, "query").next().is_some() {
        found.push(("400", ANY));
    }
    found
}

/// What can be wrong with a body and a question.
fn validation(operation: &Value) -> Vec<&'static str> {
    let mut codes = Vec::new();
    if operation.get("requestBody").is_some() {
        codes.push("VALIDATION_MALFORMED");
    }
    codes.push("VALIDATION_INVALID_FIELD");
    if parameters(operation, "query").next().is_some() {
        codes.push("VALIDATION_UNKNOWN_FIELD");
    }
    if parameters(operation, "query").any(|name| name == "cursor") {
        codes.push("VALIDATION_CURSOR");
    }
    codes
}

fn parameters<'a>(operation: &'a Value, place: &str) -> impl Iterator<Item = &'a str> {
    let all = operation.get("parameters").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let here = all.iter().filter(move |parameter| parameter.get("in").and_then(Value::as_str) == Some(place));
    here.filter_map(|parameter| parameter.get("name").and_then(Value::as_str))
}

/// Adds an answer, or what it means also.
fn add(answers: &mut Map<String, Value>, status: &str, means: &str) {
    let answer = answers.entry(status).or_insert_with(|| json!({"description": ""}));
    let said = answer.get("description").and_then(Value::as_str).unwrap_or_default();
    let code = means.split(':').next().unwrap_or_default();
    let is_told = said.contains(code) || code == ANY && said.contains("VALIDATION_");
    let words = match (said, is_told) {
        (_, true) => said.to_owned(),
        ("", false) => means.to_owned(),
        (_, false) => format!("{said}; {means}"),
    };
    let Some(answer) = answer.as_object_mut() else { return };
    answer.insert("description".to_owned(), words.into());
    let content = answer.entry("content").or_insert_with(|| json!({}));
    if let Some(content) = content.as_object_mut() {
        let schema = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
        content.entry(PROBLEM_JSON).or_insert(schema);
    }
}

/// Names every code of a problem, and shows it.
fn illustrate(status: &str, answer: &mut Value, validation: &[&str]) {
    let Some(content) = answer.pointer("/content/application~1problem+json").cloned() else { return };
    let said = answer.get("description").and_then(Value::as_str).unwrap_or_default();
    let said = said.replace(ANY, &validation.join(", "));
    let mut examples = Map::new();
    for word in
        said.split(|letter: char| !(letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_'))
    {
        if let Some(code) = Code::parse(word) {
            examples.insert(word.to_owned(), json!({"value": example(status, code)}));
        }
    }
    let Some(answer) = answer.as_object_mut() else { return };
    answer.insert("description".to_owned(), said.into());
    if matches!(status, "429" | "503") {
        let header = json!({"description": "Seconds until it makes sense to try again", "schema": {"type": "integer"}});
        answer.insert("headers".to_owned(), json!({"Retry-After": header}));
    }
    let mut shown = content;
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("examples".to_owned(), examples.into());
    }
    if let Some(content) = answer.get_mut("content").and_then(Value::as_object_mut) {
        content.insert(PROBLEM_JSON.to_owned(), shown);
    }
}

fn example(status: &str, code: Code) -> Value {
    let entry = code.public().entry();
    let mut problem = Problem::new(code, entry.what_we_do);
    problem.status = status.parse().unwrap_or(problem.status);
    problem.retry_after_ms = matches!(problem.status, 429 | 503).then_some(5_000);
    problem.request_id = Some("5f0c3a9b7d2e4810".to_owned());
    serde_json::to_value(problem).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::openapi::openapi;

    /// Every operation with its name.
    fn operations() -> Vec<(String, Value)> {
        let document = openapi();
        let paths = document["paths"].as_object().unwrap();
        let of = |(path, methods): (&String, &Value)| {
            let methods = methods.as_object().unwrap().clone();
            methods
                .into_iter()
                .map(|(method, operation)| (format!("{method} {path}"), operation))
                .collect::<Vec<_>>()
        };
        paths.iter().flat_map(of).collect()
    }

    #[test]
    fn every_problem_names_its_codes_and_shows_each() {
        for (name, operation) in operations() {
            for (status, answer) in operation["responses"].as_object().unwrap() {
                let is_bad = status.starts_with(['4', '5']);
                let problem = &answer["content"]["application/problem+json"];
                // Two that tell nothing: health, and the page that asks for a key once more.
                if !is_bad || name == "get /readyz" {
                    assert!(problem.is_null(), "{name} {status}");
                    continue;
                }
                let examples =
                    problem["examples"].as_object().unwrap_or_else(|| panic!("{name} {status}: {answer}"));
                assert!(!examples.is_empty(), "{name} {status}: {answer}");
                for (code, example) in examples {
                    assert_eq!(example["value"]["status"].to_string(), *status, "{name} {code}");
                    assert!(answer["description"].as_str().unwrap().contains(code.as_str()), "{name} {code}");
                }
                assert!(!answer["description"].as_str().unwrap().contains('*'), "{name} {status}: {answer}");
                let wait = answer["headers"]["Retry-After"].is_object();
                assert_eq!(wait, status == "429" || status == "503", "{name} {status}");
            }
        }
    }

    #[test]
    fn what_a_route_is_says_what_can_go_wrong() {
        let all = operations();
        let has = |name: &str, status: &str, code: &str| {
            let (_, operation) = all.iter().find(|(known, _)| known == name).unwrap();
            operation["responses"][status]["content"]["application/problem+json"]["examples"][code]
                .is_object()
        };
        assert!(
            has("get /api/jobs", "429", "RATE_LIMITED") && has("get /api/jobs", "400", "VALIDATION_CURSOR")
        );
        assert!(
            has("post /api/jobs/{id}/retry", "403", "AUTH_CROSS_SITE")
                && has("post /api/jobs/{id}/retry", "403", "FORBIDDEN")
        );
        assert!(
            has("post /api/replays", "413", "VALIDATION_TOO_LARGE")
                && has("post /api/replays", "400", "VALIDATION_MALFORMED")
        );
        assert!(
            has("post /api/replays", "409", "IDEMPOTENCY_IN_FLIGHT")
                && has("post /api/tokens", "422", "IDEMPOTENCY_MISMATCH")
                && has("post /api/replays/{id}/pause", "400", "VALIDATION_INVALID_FIELD")
                && !has("post /api/simulate", "422", "IDEMPOTENCY_MISMATCH")
        );
        assert!(
            has("get /api/status", "401", "AUTH_REQUIRED")
                && has("get /api/status", "503", "SYSTEM_UNAVAILABLE")
                && has("get /api/status", "503", "ANSWER_TIMEOUT")
        );
        assert!(
            has("get /api/download.zip", "502", "STORAGE_ACCESS_DENIED")
                && !has("get /api/jobs", "502", "STORAGE_ACCESS_DENIED")
        );
        assert!(
            !has("get /healthz", "429", "RATE_LIMITED") && !has("get /api/jobs", "403", "AUTH_CROSS_SITE")
        );
    }
}
