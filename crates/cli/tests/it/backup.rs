//! Back up and restore, by the commands of `docs/backup.md`, with work in flight: what was accepted ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use redrive_gateway::sample::hello;
use serde_json::Value;

use crate::fake_gateway::FakeGateway;
use crate::postgres::Database;
use crate::process::redrive;
use crate::running::{Running, wait_for};

/// The commands below a heading of the page, one text for each block.
fn commands(heading: &str) -> Vec<String> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/backup.md")).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Where a system lives, and where its backup goes.
struct Place<'a> {
    data: PathBuf,
    backup: PathBuf,
    /// Nothing is SQLite in the data folder.
    database: Option<&'a str>,
}

impl Place<'_> {
    fn run(&self, commands: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", commands]).env("DATA_DIR", &self.data).env("BACKUP", &self.backup);
        if let Some(url) = self.database {
            shell.env("DATABASE_URL", url);
        }
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{commands}\n{}", String::from_utf8_lossy(&output.stderr));
    }

    fn settings<'a>(&'a self, gateway: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut settings = vec![
            ("GATEWAY_URL", gateway),
            ("WORKER_CONCURRENCY", "2"),
            ("WORKER_LEASE_TTL_SEC", "2"),
            ("RETRY_BASE_DELAY_MS", "1"),
            ("RETRY_JITTER_MAX_MS", "1"),
        ];
        settings.extend(self.database.map(|url| ("DATABASE_URL", url)));
        settings
    }

    fn status(&self, server: &Running, id: &str) -> Value {
        server.operate(&self.data, "GET", &format!("/api/jobs/{id}")).json()["status"].clone()
    }
}

fn marked(n: usize) -> Vec<u8> {
    [&hello()[..], format!("\n% marker-{n:04}\n").as_bytes()].concat()
}

/// What the doctor says about everything, and that nothing of it is bad.
fn is_well(place: &Place<'_>) -> Vec<Value> {
    let args = ["doctor", "--json", "--data-dir", place.data.to_str().unwrap()];
    let output = redrive(&args).envs(place.database.map(|url| ("DATABASE_URL", url))).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn what_was_accepted_ends_after_a_restore(
    (backup, restore): (&str, &str),
    before: &Place<'_>,
    after: &Place<'_>,
) {
    let gateway = FakeGateway::holding_after(3);
    let server = Running::serve(&before.data, &before.settings(&gateway.url));
    let token = server.said("token    ").split_whitespace().next().unwrap().to_owned();
    let accepted: Vec<String> =
        (0..9).map(|n| server.upload(&before.data, "a.pdf", &marked(n)).job()).collect();
    let refused = server.upload(&before.data, "no.pdf", b"no pdf");
    assert_eq!(refused.status, 400);
    let refused = refused.json()["job_id"].as_str().unwrap().to_owned();
    // Three are done, two are with the gateway, the others wait.
    wait_for("some are done", || {
        let done = accepted.iter().filter(|id| before.status(&server, id) == "complete").count();
        (done == 3 && gateway.asked().len() == 5).then_some(())
    });

    let [rows, files] = commands(backup).try_into().unwrap();
    before.run(&rows);
    // Between the rows and the files the system lives on: everything ends, and something new comes.
    gateway.release();
    let late = server.upload(&before.data, "late.pdf", &marked(99)).job();
    wait_for("all are done", || {
        let done = |id: &String| before.status(&server, id) == "complete";
        (accepted.iter().all(done) && done(&late)).then_some(())
    });
    before.run(&files);
    server.signal("-KILL");
    drop(server);

    for commands in commands(restore) {
        after.run(&commands);
    }
    let server = Running::serve(&after.data, &after.settings(&gateway.url));
    for (n, id) in accepted.iter().enumerate() {
        wait_for(&format!("{id} is done"), || {
            let status = after.status(&server, id);
            assert_ne!(
                status,
                "failed",
                "{:?}",
                server.operate(&after.data, "GET", &format!("/api/jobs/{id}"))
            );
            (status == "complete").then_some(())
        });
        let xml = server.operate(&after.data, "GET", &format!("/api/jobs/{id}/download"));
        assert_eq!((xml.status, xml.body), (200, format!("<doc marker=\"{n:04}\"/>")));
    }
    let refused = server.operate(&after.data, "GET", &format!("/api/jobs/{refused}")).json();
    assert_eq!((&refused["status"], &refused["error"]["code"]), (&"failed".into(), &"NOT_PDF".into()));
    let late = server.operate(&after.data, "GET", &format!("/api/jobs/{late}"));
    assert_eq!(late.status, 404, "nobody has the row of what came later");
    // Whoever had the token has it still, and the same file is the same job.
    let bearer = format!("Bearer {token}");
    let auditor = server.ask("GET", "/api/auditor", &[("authorization", &bearer)], b"");
    assert_eq!((auditor.status, auditor.json()["clean"].as_bool()), (200, Some(true)), "{auditor:?}");
    assert_eq!(server.upload(&after.data, "a.pdf", &marked(0)).job(), accepted[0]);
    let found = is_well(after);
    for check in ["jobs", "files", "store"] {
        let finding = found.iter().find(|finding| finding["check"] == check).unwrap();
        assert_eq!(finding["level"], "good", "{found:#?}");
    }
    assert_eq!(server.stop(), Some(0));
}

/// Whether this machine has the program that the page uses.
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
fn there_is(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no {program}");
    }
    there
}

fn place<'a>(root: &Path, name: &str, database: Option<&'a str>) -> Place<'a> {
    Place { data: root.join(name), backup: root.join("backup"), database }
}

#[test]
fn sqlite_is_backed_up_while_it_works_and_restored() {
    if !there_is("sqlite3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    what_was_accepted_ends_after_a_restore(
        ("Back up: SQLite", "Restore: SQLite"),
        &place(dir.path(), "before", None),
        &place(dir.path(), "after", None),
    );
}

#[test]
fn postgres_is_backed_up_while_it_works_and_restored() {
    if !there_is("pg_dump") {
        return;
    }
    let Some((old, new)) = Database::new().zip(Database::new()) else { return };
    let dir = tempfile::tempdir().unwrap();
    what_was_accepted_ends_after_a_restore(
        ("Back up: Postgres", "Restore: Postgres"),
        &place(dir.path(), "before", Some(&old.url)),
        &place(dir.path(), "after", Some(&new.url)),
    );
}
