//! The canaries: one for every setting that is a secret, and for every address that may hold a password.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::process::redrive;

/// Every canary of a setting holds this, in whatever case.
pub(super) const SETTING: &str = "cnry-s";
/// Every canary that somebody hands in holds this.
pub(super) const USER: &str = "cnry-u";

/// A canary for every secret of the table of settings. A new secret without one fails the test.
pub(super) fn secrets(smtp: &str) -> BTreeMap<String, String> {
    let canaries = [
        ("AWS_ACCESS_KEY_ID", "CNRY-SETTING-ACCESS-KEY".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "cnry-secret-access-key".to_owned()),
        ("AWS_SESSION_TOKEN", "cnry-session-token".to_owned()),
        ("OPERATOR_TOKEN", "cnry-setting-operator-token".to_owned()),
        ("SMTP_URL", format!("smtp://cnry-smtp-user:cnry-smtp-password@{smtp}?tls=none")),
        ("NATS_URL", "nats://cnry-some-user:cnry-some-password@127.0.0.1:1".to_owned()),
        ("WEBHOOK_SECRET", "cnry-setting-webhook-secret".to_owned()),
    ];
    let canaries: BTreeMap<String, String> =
        canaries.into_iter().map(|(name, canary)| (name.to_owned(), canary)).collect();
    let output = redrive(&["config", "show", "--json"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let secret = |line: &&Value| line["secret"] == true;
    for line in lines.iter().filter(secret) {
        let name = line["name"].as_str().unwrap();
        let canary =
            canaries.get(name).unwrap_or_else(|| panic!("{name} is a secret without a canary: give it one"));
        assert!(canary.to_lowercase().contains(SETTING), "{name}: {canary}");
    }
    assert_eq!(lines.iter().filter(secret).count(), canaries.len(), "a canary of no setting");
    canaries
}

/// Settings that no server can be started with, each with its secret.
pub(super) fn wrong() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let key = |endpoint: &str| {
        vec![
            ("UPLOADS_DIR", "s3://bucket/uploads".to_owned()),
            ("S3_ENDPOINT", endpoint.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "CNRY-SETTING-ACCESS-KEY".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "cnry-secret-access-key".to_owned()),
            ("AWS_SESSION_TOKEN", "cnry-session-token".to_owned()),
        ]
    };
    let one = |name: &'static str, value: &str| vec![(name, value.to_owned())];
    vec![
        (
            "a database that is away",
            one("DATABASE_URL", "postgres://cnry-s-user:cnry-s-word@127.0.0.1:1/jobs"),
        ),
        (
            "a database that cannot be",
            one("DATABASE_URL", "postgres://cnry-s-user:cnry-s word@[::1/jobs?x=cnry-s"),
        ),
        (
            "a database that nobody knows",
            one("DATABASE_URL", "mysql://cnry-s-user:cnry-s-word@127.0.0.1/jobs"),
        ),
        ("a database without a scheme", one("DATABASE_URL", "cnry-s-user:cnry-s-word@127.0.0.1/jobs")),
        ("a gateway that cannot be", one("GATEWAY_URL", "ftp://cnry-s-user:cnry-s-word@127.0.0.1/")),
        ("an S3 that is away", key("http://127.0.0.1:1")),
        ("an S3 that repeats", key(&super::parrot::s3())),
        ("an S3 with a password", key("http://cnry-s-user:cnry-s-word@127.0.0.1:1")),
        ("a mail server that cannot be", one("SMTP_URL", "smtp://cnry-s-user:cnry-s-word@[mail?tls=cnry-s")),
        ("a sink that is away", one("NATS_URL", "nats://cnry-s-user:cnry-s-word@127.0.0.1:1")),
        ("a sink that cannot be", one("NATS_URL", "nats://cnry-s-user:cnry-s word@[::1")),
        ("a token that is too short", one("OPERATOR_TOKEN", "cnry-s")),
        ("a token that no header can carry", one("OPERATOR_TOKEN", "cnry-s with spaces and ümlauts")),
        ("a place that cannot be", one("FETCH_TO", "s3://cnry-s-user:cnry-s-word@bucket/x")),
    ]
}
