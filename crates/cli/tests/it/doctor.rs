//! `redrive doctor`: it only looks, and says what to do.

use std::path::{Path, PathBuf};

use redrive_gateway::sample::hello;
use serde_json::Value;

use crate::fake_gateway::FakeGateway;
use crate::intake::moto;
use crate::postgres::Database;
use crate::process::redrive;
use crate::running::{Running, ask, wait_for};

/// Its exit code and findings.
fn doctor(data: &Path, settings: &[(&str, &str)]) -> (Option<i32>, Vec<Value>) {
    let args = ["doctor", "--json", "--data-dir", data.to_str().unwrap()];
    let output = redrive(&args).envs(settings.iter().copied()).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn of<'a>(found: &'a [Value], check: &str) -> &'a Value {
    found.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no {check}: {found:#?}"))
}

fn converted(server: &Running, data: &Path) -> String {
    let id = server.upload(data, "a.pdf", &hello()).job();
    wait_for("it is converted", || {
        (server.operate(data, "GET", &format!("/api/jobs/{id}")).json()["status"] == "complete").then_some(())
    });
    id
}

fn only_file(folder: PathBuf) -> PathBuf {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let hidden = path.file_name().unwrap().to_str().unwrap().starts_with(".redrive-");
            match path.is_dir() {
                true if !hidden => folders.push(path),
                false if !hidden => return path,
                _ => {}
            }
        }
    }
    panic!("no file");
}

fn a_healthy_system_is_well_beside_its_server_and_without(settings: &[(&str, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let server = Running::serve(&data, settings);
    converted(&server, &data);
    let (code, found) = doctor(&data, settings);
    assert_eq!(code, Some(0), "{found:#?}");
    let checks = [
        "settings", "folder", "server", "disk", "places", "gateway", "store", "clock", "jobs", "leases",
        "workers", "files",
    ];
    for check in checks {
        assert_eq!(of(&found, check)["level"], "good", "{found:#?}");
    }
    assert!(found.iter().all(|finding| finding["level"] == "good"), "{found:#?}");
    assert!(of(&found, "server")["what"].as_str().unwrap().contains(&server.pid().to_string()));
    assert_eq!(server.operate(&data, "GET", "/api/jobs").status, 200, "the server goes on");
    assert_eq!(server.stop(), Some(0));
    let (code, found) = doctor(&data, settings);
    assert_eq!((code, of(&found, "server")["level"].as_str()), (Some(0), Some("note")), "{found:#?}");
    let _again = Running::serve(&data, settings);
}

#[test]
fn a_healthy_system_is_well_on_sqlite() {
    a_healthy_system_is_well_beside_its_server_and_without(&[]);
}

#[test]
fn a_healthy_system_is_well_on_postgres() {
    let Some(database) = Database::new() else { return };
    a_healthy_system_is_well_beside_its_server_and_without(&[("DATABASE_URL", &database.url)]);
}

#[test]
fn a_database_without_a_schema_is_told_and_left_alone() {
    let Some(database) = Database::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let (code, found) = doctor(dir.path(), &[("DATABASE_URL", &database.url)]);
        let store = of(&found, "store");
        assert_eq!((code, store["level"].as_str()), (Some(1), Some("bad")), "{found:#?}");
        assert!(store["what"].as_str().unwrap().contains("schema"), "still none the second time: {store}");
    }
}

#[test]
fn an_empty_folder_is_no_problem_and_stays_empty() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("nothing");
    let (code, found) = doctor(&data, &[]);
    assert_eq!(code, Some(0), "{found:#?}");
    assert_eq!(of(&found, "store")["level"], "note");
    assert!(!data.exists(), "looking makes nothing");
}

#[test]
fn a_result_that_somebody_removed_is_found_with_its_job() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::serve(dir.path(), &[]);
    let id = converted(&server, dir.path());
    std::fs::remove_file(only_file(dir.path().join("results"))).unwrap();
    let (code, found) = doctor(dir.path(), &[]);
    let files = of(&found, "files");
    assert_eq!((code, files["level"].as_str()), (Some(1), Some("bad")), "{found:#?}");
    assert!(files["what"].as_str().unwrap().contains(&format!("the result of {id} (complete)")), "{files}");
    assert!(files["next"].as_str().is_some_and(|next| !next.is_empty()));
    let args = ["doctor", "--data-dir", dir.path().to_str().unwrap()];
    let output = redrive(&args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("✗ files") && text.contains("→ ") && text.contains("✓ settings"), "{text}");
}

#[test]
fn what_is_wrong_around_the_jobs_is_told_with_a_next_step() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Running::serve(dir.path(), &[]);
    server.signal("-KILL");
    server.ended();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = format!("http://user:secret@{}", closed.local_addr().unwrap());
    drop(closed);
    let most = "18446744073709551615";
    let settings = [("GATEWAY_URL", gateway.as_str()), ("DISK_HARD_BYTES", most), ("DISK_SOFT_BYTES", most)];
    let (code, found) = doctor(dir.path(), &settings);
    assert_eq!(code, Some(1));
    for (check, level, words) in
        [("server", "note", "stale"), ("gateway", "bad", "127.0.0.1"), ("disk", "bad", "DISK_HARD_BYTES")]
    {
        let finding = of(&found, check);
        assert_eq!(finding["level"], level, "{finding}");
        assert!(finding["what"].as_str().unwrap().contains(words), "{finding}");
        assert!(finding["next"].is_string(), "{finding}");
    }
    assert!(!format!("{found:?}").contains("secret"), "{found:?}");
    let (code, found) = doctor(dir.path(), &[("RETRY_MAX_ATTEMPTS", "many")]);
    assert_eq!((code, of(&found, "settings")["level"].as_str()), (Some(1), Some("bad")), "{found:?}");
}

/// Every finding that is not good says what to do.
fn told(found: &[Value], check: &str, level: &str, words: &str) {
    let finding = found.iter().find(|finding| {
        finding["check"] == check
            && finding["level"] == level
            && finding["what"].as_str().is_some_and(|what| what.contains(words))
    });
    let finding = finding.unwrap_or_else(|| panic!("no {level} {check} with {words:?}: {found:#?}"));
    assert_eq!(finding["next"].is_string(), level != "good", "{finding}");
}

#[test]
fn every_place_is_tried_and_nothing_stays_there() {
    let dir = tempfile::tempdir().unwrap();
    let (data, office, also) = (dir.path().join("data"), dir.path().join("office"), dir.path().join("also"));
    let names = ["UPLOADS_DIR", "RESULTS_DIR", "FETCH_TO", "MANIFESTS_DIR", "FETCH_TO_ALSO", "INTAKE_URL"];
    let settings = [("INTAKE_URL", office.to_str().unwrap()), ("FETCH_TO_ALSO", also.to_str().unwrap())];
    let (code, found) = doctor(&data, &settings);
    assert_eq!(code, Some(0), "{found:#?}");
    for name in names {
        told(&found, "places", "note", name);
    }
    assert!(!data.exists() && !office.exists(), "looking makes nothing");
    assert_eq!(Running::serve(&data, &settings).stop(), Some(0));
    let (code, found) = doctor(&data, &settings);
    assert_eq!(code, Some(0), "{found:#?}");
    for name in names {
        told(&found, "places", "good", name);
    }
    let left =
        std::process::Command::new("find").arg(dir.path()).args(["-name", "*doctor*"]).output().unwrap();
    assert_eq!(String::from_utf8(left.stdout).unwrap(), "", "what was written is removed");
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for name in names {
        let (code, found) = doctor(&data, &[settings[0], settings[1], (name, file.to_str().unwrap())]);
        assert_eq!(code, Some(1), "{name}: {found:#?}");
        told(&found, "places", "bad", name);
    }
}

#[test]
fn a_bucket_is_tried_and_one_that_is_not_there_is_told() {
    let Some(moto) = moto() else { return };
    let dir = tempfile::tempdir().unwrap();
    let name = format!("doctor{}", std::process::id());
    let at = moto.strip_prefix("http://").unwrap();
    assert_eq!(ask(at, "PUT", &format!("/{name}"), &[], b"").status, 200);
    let with = |place: &str| {
        let settings = [
            ("S3_ENDPOINT", moto.as_str()),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "who"),
            ("AWS_SECRET_ACCESS_KEY", "CANARY"),
            ("UPLOADS_DIR", place),
            ("INTAKE_URL", place),
        ];
        // The two may not be the same place.
        let office = format!("{place}/office");
        let settings: Vec<_> = settings
            .into_iter()
            .map(|(name, value)| (name, if name == "INTAKE_URL" { office.as_str() } else { value }))
            .collect();
        doctor(&dir.path().join("data"), &settings)
    };
    let (code, found) = with(&format!("s3://{name}/in"));
    assert_eq!(code, Some(0), "{found:#?}");
    told(&found, "places", "good", &format!("UPLOADS_DIR s3://{name}/in:"));
    told(&found, "places", "good", &format!("INTAKE_URL s3://{name}/in/office:"));
    let listed = ask(at, "GET", &format!("/{name}?list-type=2"), &[], b"").body;
    assert!(!listed.contains("redrive-doctor"), "what was written is removed: {listed}");
    let (code, found) = with("s3://nobody-has-this-bucket/x");
    assert_eq!(code, Some(1), "{found:#?}");
    told(&found, "places", "bad", "UPLOADS_DIR s3://nobody-has-this-bucket/x:");
    assert!(!format!("{found:?}").contains("CANARY"));
    assert!(!dir.path().join("data").exists(), "looking makes nothing");
}

#[test]
fn a_mail_server_is_greeted_and_one_that_is_away_or_wants_another_password_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let office = dir.path().join("office");
    let with = |url: &str| {
        let settings = [
            ("INTAKE_URL", office.to_str().unwrap()),
            ("SMTP_URL", url),
            ("MAIL_FROM", "redrive@example.org"),
        ];
        let (code, found) = doctor(&dir.path().join("data"), &settings);
        assert!(!format!("{found:?}").contains("CANARY"), "{found:?}");
        (code, found)
    };
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let away = format!("smtp://{}?tls=none", closed.local_addr().unwrap());
    drop(closed);
    let (code, found) = with(&away);
    assert_eq!(code, Some(1), "{found:#?}");
    told(&found, "mail", "bad", "MAIL_UNAVAILABLE");
    let Some(port) = smtp_port() else { return };
    let (code, found) = with(&format!("smtp://127.0.0.1:{port}?tls=none"));
    assert_eq!(code, Some(0), "{found:#?}");
    told(&found, "mail", "good", "none was sent");
    let (code, found) = with(&format!("smtp://user:CANARY@127.0.0.1:{port}?tls=none"));
    assert_eq!(code, Some(1), "{found:#?}");
    told(&found, "mail", "bad", "MAIL_AUTH");
    // Its certificate is its own.
    let (code, found) = with(&format!("smtp://127.0.0.1:{port}"));
    assert_eq!(code, Some(1), "{found:#?}");
    told(&found, "mail", "bad", "MAIL_TLS");
}

/// The mail server of `./test`, where there is one.
#[expect(clippy::disallowed_methods, reason = "tests have a home of the environment too")]
fn smtp_port() -> Option<u64> {
    let folder = std::env::var("REDRIVE_TEST_SMTP").ok().filter(|folder| !folder.is_empty());
    if folder.is_none() {
        println!("REDRIVE_TEST_SMTP is not set: skipped; run ./test");
    }
    let ports = std::fs::read(Path::new(&folder?).join("ports.json")).unwrap();
    serde_json::from_slice::<Value>(&ports).unwrap()["starttls"].as_u64()
}

#[test]
fn proxies_that_cannot_be_reached_and_settings_that_others_can_read_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let file = dir.path().join("redrive.toml");
    let text = format!("[proxy_pools]\neu = [\"http://u:CANARY@{}\"]\n", closed.local_addr().unwrap());
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let data = dir.path().join("data");
    let config = ("REDRIVE_CONFIG", file.to_str().unwrap());
    let (code, found) = doctor(&data, &[config]);
    assert_eq!(code, Some(0), "{found:#?}");
    told(&found, "proxies", "good", "pool eu");
    told(&found, "settings", "note", "holds secrets and has mode 644");
    drop(closed);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (code, found) = doctor(&data, &[config, ("RETRY_MAX_ATTEMPT", "5")]);
    assert_eq!(code, Some(1), "{found:#?}");
    told(&found, "proxies", "bad", "none of 1 can be reached: eu#1");
    told(&found, "settings", "note", "did you mean RETRY_MAX_ATTEMPTS?");
    assert!(!format!("{found:?}").contains("CANARY") && !format!("{found:?}").contains("holds secrets"));
}

#[test]
fn a_database_of_an_older_version_is_told_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Running::serve(dir.path(), &[]).stop(), Some(0));
    let file = dir.path().join("redrive.db");
    let mut bytes = std::fs::read(&file).unwrap();
    // The version stands in the head of an SQLite file, as a number of four bytes.
    let version = u32::from_be_bytes(bytes[60..64].try_into().unwrap());
    bytes[60..64].copy_from_slice(&(version - 1).to_be_bytes());
    std::fs::write(&file, &bytes).unwrap();
    let (code, found) = doctor(dir.path(), &[]);
    assert_eq!(code, Some(1), "{found:#?}");
    told(&found, "store", "bad", "older than this version: redrive migrate");
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "looking changes nothing");
}

#[test]
fn a_target_that_is_held_and_leases_of_a_worker_that_was_killed_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = FakeGateway::holding_after(0);
    let settings = [("GATEWAY_URL", gateway.url.as_str()), ("WORKER_LEASE_TTL_SEC", "0.2")];
    let mut server = Running::serve(dir.path(), &settings);
    let id = server.upload(dir.path(), "a.pdf", &hello()).job();
    wait_for("it runs", || {
        let job = server.operate(dir.path(), "GET", &format!("/api/jobs/{id}")).json();
        (job["status"] == "processing").then_some(())
    });
    assert_eq!(server.operate(dir.path(), "POST", "/api/breakers/gateway/hold").status, 200);
    let (_, found) = doctor(dir.path(), &settings);
    told(&found, "breakers", "note", "gateway is held by hand");
    told(&found, "leases", "good", "");
    told(&found, "gateway", "bad", "status 404");
    server.signal("-KILL");
    server.ended();
    let found = wait_for("its lease has run out long ago", || {
        let (_, found) = doctor(dir.path(), &settings);
        let leases = of(&found, "leases");
        // Those of the server's own jobs may have run out before it.
        (leases["level"] == "bad" && leases["what"].as_str().unwrap().contains(&id)).then_some(found)
    });
    told(&found, "leases", "bad", &id);
    told(&found, "jobs", "good", "each in exactly one place");
}
