//! What an answer that is no problem says of itself: words, which the format requires of each, and the headers that come with it.

use serde_json::{Map, Value, json};

use crate::routes::Access;

/// Headers that some answers have: method, path, status, names.
const HEADERS: &[(&str, &str, &str, &[&str])] = &[
    ("post", "/api/upload", "200", &["Location"]),
    ("post", "/api/upload", "201", &["Location"]),
    ("post", "/api/fetch", "202", &["Location"]),
    ("post", "/api/replays", "201", &["Location"]),
    ("get", "/api/jobs/{id}/download", "200", &["Accept-Ranges", "Content-Disposition", "ETag"]),
    (
        "get",
        "/api/jobs/{id}/download",
        "206",
        &["Accept-Ranges", "Content-Disposition", "Content-Range", "ETag"],
    ),
    ("get", "/api/jobs/{id}/download", "304", &["ETag"]),
    ("get", "/api/jobs/{id}/download", "416", &["Content-Range"]),
    ("get", "/api/download.zip", "200", &["Content-Disposition"]),
    ("get", "/api/fetch/{id}/missing", "200", &["Content-Disposition"]),
    ("get", "/api/intake/documents/{id}/report", "200", &["Content-Disposition"]),
    ("get", "/readyz", "503", &["Retry-After"]),
    ("post", "/sign-in", "303", &["Location", "Set-Cookie"]),
    ("post", "/sign-out", "303", &["Location", "Set-Cookie"]),
    ("delete", "/api/session", "204", &["Set-Cookie"]),
];

/// Adds both to every operation.
pub(super) fn complete(document: &mut Value) {
    for costs in crate::routes::costs() {
        let route = costs.info;
        let method = route.method.as_str().to_lowercase();
        let path = document.get_mut("paths").and_then(|paths| paths.get_mut(route.path));
        let answers = path.and_then(|path| path.get_mut(&method)?.get_mut("responses")?.as_object_mut());
        for (status, answer) in answers.into_iter().flatten() {
            let Some(answer) = answer.as_object_mut() else { continue };
            if !answer.contains_key("description") {
                answer.insert("description".to_owned(), words(&method, status).into());
            }
            let here = (method.as_str(), route.path, status.as_str());
            let all = HEADERS.iter().filter(|one| (one.0, one.1, one.2) == here);
            for name in all.flat_map(|one| one.3) {
                show(answer, name);
            }
            if status == "401" {
                show(answer, "WWW-Authenticate");
            }
            if costs.once && !matches!(status.as_bytes(), [b'4' | b'5', ..]) {
                show(answer, "Idempotent-Replayed");
            }
            // Whoever is refused has a session from then on too.
            if route.access == Access::Session {
                show(answer, "Set-Cookie");
            }
        }
    }
}

/// What is said where a handler says nothing more.
fn words(method: &str, status: &str) -> &'static str {
    match (method, status) {
        ("get", _) => "As it is now",
        (_, "202") => "Accepted",
        (_, _) => "As it is then",
    }
}

fn show(answer: &mut Map<String, Value>, name: &str) {
    let kind = if name == "Retry-After" { "integer" } else { "string" };
    let header = json!({"description": means(name), "schema": {"type": kind}});
    if let Some(headers) = answer.entry("headers").or_insert_with(|| json!({})).as_object_mut() {
        headers.insert(name.to_owned(), header);
    }
}

fn means(name: &str) -> &'static str {
    match name {
        "Accept-Ranges" => "`bytes`, where a part can be asked for",
        "Content-Disposition" => "`attachment`, with the name of the file",
        "Content-Range" => "Which part it is, or how long the whole is",
        "ETag" => "Which bytes these are, for `If-None-Match` and `If-Range`",
        "Idempotent-Replayed" => {
            "`true`: this is the answer to an earlier request with the same `Idempotency-Key`"
        }
        "Location" => "Where it is",
        "Retry-After" => "Seconds until it makes sense to try again",
        "Set-Cookie" => "The session, where this request begins or ends one",
        "WWW-Authenticate" => "How operators say who they are",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::openapi;
    use super::*;

    #[test]
    fn every_answer_of_the_document_says_what_it_is() {
        for (path, methods) in openapi()["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                for (status, answer) in operation["responses"].as_object().unwrap() {
                    let words = answer["description"].as_str().unwrap_or_default();
                    assert!(!words.is_empty(), "{method} {path} {status}: {answer}");
                }
            }
        }
    }

    #[test]
    fn headers_are_told_where_they_come() {
        for (method, path, status, names) in HEADERS {
            let answer = &openapi()["paths"][path][method]["responses"][status];
            for name in *names {
                let header = &answer["headers"][name];
                assert!(header["description"].as_str().is_some_and(|text| !text.is_empty()), "{path} {name}");
            }
        }
    }
}
