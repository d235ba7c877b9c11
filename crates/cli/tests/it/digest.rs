//! `redrive digest` and `redrive notifications` against a server with intake.

use std::path::Path;

use redrive_model::{Code, JobId, LeaseToken, Timestamp};
use redrive_store::intake::{DocumentChange, FailureRecord, IntakeStore, NewDocument};
use redrive_store_sqlite::SqliteStore;
use serde_json::Value;

use crate::jobs::ask;
use crate::process::redrive;
use crate::running::{Running, wait_for};

/// Writes into the database, before a server runs on it, that a PDF of this owner has failed.
fn failed(data: &Path, owner: &str, path: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(data.join("redrive.db")).await.unwrap();
        let at: Timestamp = "2026-03-01T08:00:00Z".parse().unwrap();
        let id = JobId::from_parts(at, [7; 10]);
        let document = NewDocument {
            id,
            root: "file:///srv".into(),
            path: path.into(),
            key: "queue/x.pdf".into(),
            version: "1".into(),
            bytes: 9,
            owner: owner.into(),
        };
        store.take_in(vec![document]).await.unwrap();
        let failure = Some((Code::GwPasswordRequired, "said by the gateway".to_owned()));
        let stage = Some(redrive_store::intake::Stage::Failed);
        let change = DocumentChange { failure, stage, ..DocumentChange::default() };
        store.change_document(id, LeaseToken(1), change).await.unwrap();
        let record = FailureRecord {
            failure_id: id.as_uuid(),
            document: id,
            timestamp: at,
            owner: owner.into(),
            pdf_key: "pdf/x.pdf".into(),
            queue_key: None,
            failed_key: Some("failed/x.pdf".into()),
            retry_count: 4,
            max_retries_exceeded: true,
            code: Code::GwPasswordRequired,
            failure_reason: "said by the gateway".into(),
            notified: false,
        };
        store.note_failure(record).await.unwrap();
    });
}

#[test]
fn a_digest_is_previewed_and_written_to_files_without_a_mail_server() {
    let dir = tempfile::tempdir().unwrap();
    let (data, intake) = (dir.path(), dir.path().join("in"));
    failed(data, "jane", "briefe/1871.pdf");
    let server = Running::serve(data, &[("INTAKE_URL", intake.to_str().unwrap())]);
    assert!(server.said("digest ").starts_with("daily 23:55:00 in UTC, to files in "));
    let (code, out, said) = ask(data, &["digest", "preview"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("Subject: 1 given up — intake") && out.contains("briefe/1871.pdf"), "{out}");
    assert!(
        out.contains("To:      a file (for jane)") && said.contains("1 owner, would be told"),
        "{out}{said}"
    );
    let (code, out, _) = ask(data, &["digest", "preview", "--json", "--owner", "jane"]);
    let one: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &one["dead"], &one["goes_to"]), (Some(0), &1.into(), &"file".into()));
    assert_eq!(ask(data, &["digest", "preview", "--owner", "joe"]).0, Some(3));
    let (code, _, said) = ask(data, &["digest", "send", "--dry-run"]);
    assert!(code == Some(0) && said.contains("1 owner, would be told"), "{said}");
    let (code, _, said) = ask(data, &["digest", "send"]);
    assert!(code == Some(0) && said.contains("1 owner, are being told by files"), "{said}");
    let written = wait_for("the file", || {
        let (_, out, _) = ask(data, &["digest", "deliveries", "--json"]);
        serde_json::from_str::<Value>(out.lines().next()?).ok()
    });
    assert_eq!(written["state"], "written");
    let html = std::fs::read_to_string(intake.join(written["address"].as_str().unwrap())).unwrap();
    assert!(html.contains("The PDF needs a password."));
    let (code, out, said) = ask(data, &["digest", "preview"]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert!(said.contains("nothing changed since the last digest"), "{said}");
    server.stop();
}

/// What `scripts/smtp.sh start` said.
#[expect(clippy::disallowed_methods, reason = "the test script says here where its servers are")]
fn mail_server() -> Option<std::path::PathBuf> {
    let folder = std::env::var("REDRIVE_TEST_SMTP").ok().filter(|folder| !folder.is_empty());
    if folder.is_none() {
        println!("REDRIVE_TEST_SMTP is not set: skipped; run ./test");
    }
    folder.map(Into::into)
}

#[test]
fn a_digest_goes_to_the_address_that_was_added_and_a_failed_one_is_listed() {
    let Some(folder) = mail_server() else { return };
    let ports: Value = serde_json::from_slice(&std::fs::read(folder.join("ports.json")).unwrap()).unwrap();
    let url = format!("smtp://127.0.0.1:{}?tls=none", ports["plain"]);
    let dir = tempfile::tempdir().unwrap();
    let (data, intake) = (dir.path(), dir.path().join("in"));
    failed(data, "jane", "briefe/1871.pdf");
    let settings =
        [("INTAKE_URL", intake.to_str().unwrap()), ("SMTP_URL", &url), ("MAIL_FROM", "redrive@example.org")];
    let server = Running::serve(data, &settings);
    assert!(server.said("digest ").contains("by mail through 127.0.0.1:"));
    let newest = || -> Option<Value> {
        let (_, out, _) = ask(data, &["digest", "deliveries", "--json"]);
        serde_json::from_str(out.lines().next()?).ok()
    };
    let refused = format!("550+{}@example.org", std::process::id());
    assert_eq!(ask(data, &["notifications", "add", "default", &refused]).0, Some(0));
    assert_eq!(ask(data, &["digest", "send"]).0, Some(0));
    let failed = wait_for("the refusal", newest);
    assert_eq!(failed["state"], "failed");
    assert!(failed["error"].as_str().unwrap().starts_with("MAIL_REFUSED"), "{failed}");
    let good = format!("jane+cli-{}@example.org", std::process::id());
    assert_eq!(ask(data, &["notifications", "add", "jane", &good]).0, Some(0));
    assert_eq!(ask(data, &["digest", "send"]).0, Some(0));
    wait_for("the mail", || newest().filter(|one| one["state"] == "sent" && one["address"] == good.as_str()));
    server.stop();
}

#[test]
fn addresses_are_listed_added_switched_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (data, intake) = (dir.path(), dir.path().join("in"));
    let server = Running::serve(data, &[("INTAKE_URL", intake.to_str().unwrap())]);
    let (code, out, _) = ask(data, &["notifications", "add", "jane", "jane@example.org"]);
    assert_eq!(
        (code, out.split_whitespace().collect::<Vec<_>>()),
        (Some(0), vec!["jane", "on", "jane@example.org"])
    );
    let (code, out, _) = ask(data, &["notifications", "disable", "jane", "jane@example.org"]);
    assert!(code == Some(0) && out.contains(" off "), "{out}");
    let (_, out, _) = ask(data, &["notifications", "list", "--json"]);
    let one: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&one["owner"], &one["enabled"]), (&"jane".into(), &false.into()));
    assert_eq!(ask(data, &["notifications", "enable", "jane", "jane@example.org"]).0, Some(0));
    for (args, exit, says) in [
        (["notifications", "add", "jane", "nobody"], 2, "is no mail address"),
        (["notifications", "enable", "joe", "joe@example.org"], 3, "joe has no address joe@example.org"),
        (["notifications", "remove", "joe", "joe@example.org"], 3, "There is no such address"),
    ] {
        let (code, out, said) = ask(data, &args);
        assert_eq!((code, out.as_str()), (Some(exit), ""), "{args:?}: {said}");
        assert!(said.contains(says), "{args:?}: {said}");
    }
    assert_eq!(ask(data, &["notifications", "remove", "jane", "jane@example.org"]).0, Some(0));
    assert_eq!(ask(data, &["notifications", "list"]).1, "");
    server.stop();
}

#[test]
fn a_server_without_intake_says_so_and_wrong_settings_stop_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::serve(dir.path(), &[]);
    let (code, _, said) = ask(dir.path(), &["digest", "preview"]);
    assert!(code == Some(3) && said.contains("INTAKE_URL"), "{code:?} {said}");
    server.stop();
    for (name, value, says) in [
        ("DIGEST_AT", "25:00", "DIGEST_AT is \"25:00\""),
        ("DIGEST_TZ", "Mars/Olympus", "DIGEST_TZ is \"Mars/Olympus\""),
        ("SMTP_URL", "smtps://who:canary@mail.example", "MAIL_FROM is not"),
    ] {
        let data = dir.path().to_str().unwrap();
        let output = redrive(&["serve", "--data-dir", data, "--listen", "127.0.0.1:0"])
            .env(name, value)
            .env("METRICS_LISTEN", "127.0.0.1:0")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says) && !said.contains("canary"), "{said}");
    }
}
