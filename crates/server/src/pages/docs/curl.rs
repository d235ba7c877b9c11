//! An operation as a command that can be copied into a shell.

use serde_json::Value;

use super::{Operation, object, pretty, text};

/// The command. What only the reader knows stands there as an example: ids, files, the token.
pub(super) fn command(operation: &Operation<'_>, at: &str) -> String {
    let mut parts = vec!["curl".to_owned()];
    let ways = operation.said.get("security").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_session = ways.iter().any(|way| way.as_object().is_some_and(serde_json::Map::is_empty));
    if is_session {
        parts.push("-c jar -b jar".to_owned());
    } else if !ways.is_empty() {
        parts.push("-H \"Authorization: Bearer $TOKEN\"".to_owned());
    }
    if operation.method != "get" {
        parts.push(format!("-X {}", operation.method.to_uppercase()));
    }
    if object(operation.said, "/responses").contains_key("206") {
        parts.push("-OJ".to_owned());
    }
    let content = object(operation.said, "/requestBody/content");
    if let Some((media, body)) = content.iter().next() {
        parts.extend(body_of(media, body));
    }
    parts.push(quoted(&format!("{at}{}{}", path(operation), query(operation))));
    parts.join(" ")
}

/// How curl sends such a body.
fn body_of(media: &str, body: &Value) -> Vec<String> {
    let example = body.get("example").unwrap_or(&Value::Null);
    match media {
        "multipart/form-data" => object(example, "")
            .keys()
            .map(|field| match field.as_str() {
                "file" => "-F file=@report.pdf".to_owned(),
                field => format!("-F {}", quoted(&format!("{field}={}", plain(&example[field])))),
            })
            .collect(),
        "application/x-www-form-urlencoded" => object(example, "")
            .iter()
            .map(|(field, value)| {
                format!("--data-urlencode {}", quoted(&format!("{field}={}", plain(value))))
            })
            .collect(),
        _ => {
            let text = match example {
                Value::String(_) => pretty(example),
                other => other.to_string(),
            };
            vec![
                format!("-H {}", quoted(&format!("Content-Type: {media}"))),
                format!("--data-binary {}", quoted(&text)),
            ]
        }
    }
}

/// The path with an example in each of its places.
fn path(operation: &Operation<'_>) -> String {
    let mut path = operation.path.to_owned();
    for (name, example) in [
        ("id", "019a8e5c-7c1e-7000-8000-000000000001"),
        ("offset", "4711"),
        ("fingerprint", "529a12232fb4eae4"),
        ("target", "gateway"),
        ("code", "GW_TIMEOUT"),
    ] {
        path = path.replace(&format!("{{{name}}}"), example);
    }
    path
}

/// What must be asked for; the rest is told above.
fn query(operation: &Operation<'_>) -> String {
    let parameters =
        operation.said.get("parameters").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let needed =
        parameters.iter().filter(|it| text(it, "/in") == "query" && it.get("required") == Some(&true.into()));
    let pairs: Vec<String> = needed
        .map(|it| match text(it, "/name") {
            "address" => "address=jane@example.org".to_owned(),
            "owner" => "owner=jane.doe".to_owned(),
            name => format!("{name}=…"),
        })
        .collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::openapi;

    fn of(method: &str, path: &str) -> String {
        let said = &openapi()["paths"][path][method];
        command(&Operation { path, method, said }, "http://127.0.0.1:8080")
    }

    #[test]
    fn a_command_can_be_copied_as_it_is() {
        for (method, path, expected) in [
            ("get", "/api/status", "curl 'http://127.0.0.1:8080/api/status'"),
            (
                "post",
                "/api/upload",
                "curl -c jar -b jar -X POST -F file=@report.pdf -F 'mapping=tei' 'http://127.0.0.1:8080/api/upload'",
            ),
            (
                "get",
                "/api/jobs/{id}/download",
                "curl -c jar -b jar -OJ 'http://127.0.0.1:8080/api/jobs/019a8e5c-7c1e-7000-8000-000000000001/download'",
            ),
            (
                "put",
                "/api/intake/settings",
                "curl -H \"Authorization: Bearer $TOKEN\" -X PUT -H 'Content-Type: application/json' --data-binary '{\"max_retries\":3,\"paused\":false}' 'http://127.0.0.1:8080/api/intake/settings'",
            ),
            (
                "delete",
                "/api/notifications",
                "curl -H \"Authorization: Bearer $TOKEN\" -X DELETE 'http://127.0.0.1:8080/api/notifications?owner=jane.doe&address=jane@example.org'",
            ),
        ] {
            assert_eq!(of(method, path), expected);
        }
    }

    #[test]
    fn nothing_is_left_to_be_filled_in_but_the_token() {
        for route in crate::routes() {
            let command = of(&route.method.as_str().to_lowercase(), route.path);
            let address = command.rsplit(' ').next().unwrap();
            assert!(!address.contains(['{', '}', '…']), "{command}");
        }
    }

    #[test]
    fn a_quote_does_not_end_the_word() {
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
