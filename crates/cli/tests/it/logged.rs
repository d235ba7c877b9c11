//! What the log and the metrics do with words of others: one event is one line, and no label is made of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::running::{Running, server_file, wait_for};

/// What somebody would like to stand in a log.
const FORGED: &str =
    "x\n{\"level\":\"ERROR\",\"event\":\"forged\"}\r\nforged \u{1b}[31mred\u{2028}forged\u{85}forged";

/// Puts it wherever it is taken.
fn forge(server: &Running, data: &std::path::Path) {
    let bearer = format!("Bearer {}", server_file(data)["token"].as_str().unwrap());
    let headers =
        [("authorization", bearer.as_str()), ("content-type", "application/json"), ("user-agent", "forged")];
    let post = |path: &str, body: Value| server.ask("POST", path, &headers, body.to_string().as_bytes());
    post("/api/breakers/gateway/hold", json!({"reason": FORGED}));
    post("/api/breakers/gateway/release", json!({"reason": FORGED}));
    post("/api/tokens", json!({"name": FORGED, "scope": FORGED}));
    post("/api/notifications", json!({"owner": FORGED, "address": FORGED}));
    let resource = json!({"id": FORGED, "url": "http://127.0.0.1:1/x", "tags": {"a": FORGED}});
    post("/api/fetch", json!({"manifest_version": 1, "resources": [resource], "metadata": {"a": FORGED}}));
    server.ask("GET", "/%0Aforged%0D%0Aforged?a=%0Aforged", &headers, b"");
    server.ask("GET", "/api/jobs?q=%0Aforged&status=%0Aforged", &headers, b"");
    server.upload(data, "a%0A%0Dforged\u{2028}forged.pdf", &redrive_gateway::sample::hello());
    server.upload(data, "forged\u{85}.pdf", b"%PDF-1.7\nforged\ntrailer\n");
}

#[test]
fn one_event_is_one_line_whatever_people_say() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [("LOG_LEVEL", "trace"), ("LOG_FORMAT", "json"), ("INTAKE_URL", "intake")];
    let settings = settings.map(|(name, value)| {
        (
            name,
            if name == "INTAKE_URL" {
                dir.path().join(value).display().to_string()
            } else {
                value.to_owned()
            },
        )
    });
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let data = dir.path().join("data");
    let mut server = Running::serve(&data, &settings);
    forge(&server, &data);
    server.signal("-TERM");
    server.ended();
    let log = server.err();
    assert!(log.lines().count() > 10, "{log}");
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert!(event["timestamp"].is_string() && event["event"] != "forged", "{line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
}

#[test]
fn one_event_is_one_line_of_text_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Running::serve(dir.path(), &[("LOG_LEVEL", "trace"), ("LOG_FORMAT", "text")]);
    forge(&server, dir.path());
    server.signal("-TERM");
    server.ended();
    let log = server.err();
    assert!(log.lines().count() > 10, "{log}");
    for line in log.lines() {
        // Each line begins with its own instant: none was begun by somebody else.
        assert!(line.starts_with("20") && line.as_bytes().get(10) == Some(&b'T'), "{line:?}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
}

/// Names of files, addresses, mappings, codes, targets, people: thousands of each, and not one of them becomes a label.
#[test]
fn labels_are_of_closed_sets_whatever_comes_in() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let server = Running::serve(data, &[("FETCH_ALLOW_PRIVATE", "true")]);
    server.upload(data, "first.pdf", &redrive_gateway::sample::hello());
    let bearer = format!("Bearer {}", server_file(data)["token"].as_str().unwrap());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    for n in 0..100 {
        server.ask("POST", &format!("/api/breakers/host:odd-{n}/hold"), &headers, b"{}");
        server.ask("GET", &format!("/odd-{n}"), &headers, b"");
        server.ask("GET", &format!("/api/failures/ODD_{n}"), &headers, b"");
        server.upload(data, &format!("odd-{n}.pdf"), format!("%PDF-1.7\nodd {n}\ntrailer\n").as_bytes());
    }
    // Ten thousand resources at as many hosts where nobody listens: each becomes a job.
    for thousand in 1..11 {
        let resources: Vec<Value> = (0..1_000)
            .map(|n| json!({"id": format!("odd-{thousand}-{n}"), "url": format!("http://127.{thousand}.{}.{}:9/odd-{n}.pdf", n / 250, n % 250)}))
            .collect();
        let answer = server.ask(
            "POST",
            "/api/fetch",
            &headers,
            json!({"manifest_version": 1, "resources": resources}).to_string().as_bytes(),
        );
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    wait_for("some of them to fail", || {
        let fails = "redrive_jobs_retries_total{workload=\"fetch\"";
        server.metrics().contains(fails).then_some(())
    });
    let metrics = server.metrics();
    let mut values = BTreeSet::new();
    let mut series = 0;
    for line in metrics.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        series += 1;
        let Some((_, labels)) = line.split_once('{') else { continue };
        for pair in labels.split('}').next().unwrap().split("\",") {
            let (name, value) = pair.split_once("=\"").unwrap();
            if name != "le" && name != "quantile" {
                values.insert(value.trim_end_matches('"').to_owned());
            }
        }
    }
    assert!(!metrics.contains("odd") && !metrics.contains("127."), "{values:?}");
    assert!(series < 500 && values.len() < 60, "{series} series, {values:?}");
}
