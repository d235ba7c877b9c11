//! What `serve` leaves for operators: a link, a token, and a file for the command line.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::postgres::Database;
use crate::process::redrive;
use crate::running::{Running, ask, server_file, wait_for};

#[test]
fn the_token_is_told_once_and_each_start_has_a_link_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::serve(dir.path(), &[]);
    let token = server.said("token    ").split_whitespace().next().unwrap().to_owned();
    let first = link(&server);
    let bearer = format!("Bearer {token}");
    assert_eq!(server.ask("GET", "/api/audit", &[("authorization", &bearer)], b"").status, 200);
    assert_eq!(server.ask("GET", "/api/audit", &[("authorization", "Bearer rdo_wrong")], b"").status, 401);
    assert_eq!(server.ask("GET", "/api/audit", &[], b"").status, 401);
    let page = server.ask("GET", &first, &[], b"");
    assert!(page.status == 200 && page.body.contains("<form"), "{page:?}");
    assert_eq!(server.stop(), Some(0));
    for file in ["redrive.db", "redrive.db-wal"] {
        let Ok(bytes) = std::fs::read(dir.path().join(file)) else { continue };
        let found = bytes.windows(token.len()).any(|part| part == token.as_bytes());
        assert!(!found, "{file} holds the token");
    }
    let server = Running::serve(dir.path(), &[]);
    let second = link(&server);
    assert_ne!(first, second);
    assert!(!server.out().contains("rdo_"), "told once: {}", server.out());
    assert!(server.said("token    ").starts_with("made at the first start"), "{}", server.out());
    assert_eq!(
        server.ask("GET", "/api/audit", &[("authorization", &bearer)], b"").status,
        200,
        "it still holds"
    );
    let (_, old) = first.split_once("code=").unwrap();
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    let refused = server.ask("POST", "/sign-in", &kind, format!("key={old}").as_bytes());
    assert_eq!(refused.status, 401, "the link of the start before");
    let (_, new) = second.split_once("code=").unwrap();
    let entered = server.ask("POST", "/sign-in", &kind, format!("key={new}").as_bytes());
    assert_eq!(entered.status, 303, "{entered:?}");
    assert!(entered.head.contains("set-cookie: redrive-operator="), "{}", entered.head);
}

#[test]
fn a_chosen_token_counts_alone_and_a_short_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let made = Running::serve(dir.path(), &[]).said("token    ");
    let made = format!("Bearer {}", made.split_whitespace().next().unwrap());
    let server = Running::serve(dir.path(), &[("OPERATOR_TOKEN", "chosen-by-the-operator")]);
    assert_eq!(server.ask("GET", "/api/audit", &[("authorization", &made)], b"").status, 401);
    let chosen = [("authorization", "Bearer chosen-by-the-operator")];
    assert_eq!(server.ask("GET", "/api/audit", &chosen, b"").status, 200);
    link(&server);
    assert_eq!(server.said("token    "), "OPERATOR_TOKEN, as it was given");
    assert!(!server.out().contains("chosen-by"), "{}", server.out());
    drop(server);
    let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", dir.path().to_str().unwrap()];
    let output = redrive(&args).env("OPERATOR_TOKEN", "short").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("OPERATOR_TOKEN") && !said.contains("short\""), "{said}");
}

#[test]
fn the_file_for_the_command_line_is_private_works_and_goes_with_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.json");
    let server = Running::serve(dir.path(), &[]);
    let file = server_file(dir.path());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(file["pid"], server.pid());
    assert_eq!(file["url"], format!("http://{}", server.address()));
    assert_eq!(server.operate(dir.path(), "GET", "/api/jobs").status, 200);
    assert_eq!(server.stop(), Some(0));
    assert!(!path.exists(), "a clean stop takes it away");
    let mut killed = Running::serve(dir.path(), &[]);
    let stale = server_file(dir.path());
    killed.signal("-KILL");
    killed.ended();
    assert!(path.exists(), "a crash leaves it");
    let server = Running::serve(dir.path(), &[]);
    let address = server.address();
    let stale = format!("Bearer {}", stale["token"].as_str().unwrap());
    assert_eq!(
        ask(&address, "GET", "/api/audit", &[("authorization", &stale)], b"").status,
        401,
        "of the start before"
    );
}

fn a_second_server_changes_nothing(data: &Path, settings: &[(&str, &str)]) {
    let server = Running::serve(data, settings);
    let before = server_file(data);
    let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
    let second = redrive(&args).envs(settings.iter().copied()).output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!((second.status.code(), said.lines().count()), (Some(5), 1), "{said}");
    assert!(
        said.contains(&format!("in use by another redrive process (process {})", server.pid())),
        "{said}"
    );
    assert_eq!(server_file(data), before);
    assert_eq!(server.operate(data, "GET", "/api/jobs").status, 200, "the first one goes on");
}

#[test]
fn a_second_server_on_the_same_folder_changes_nothing_on_sqlite() {
    a_second_server_changes_nothing(tempfile::tempdir().unwrap().path(), &[]);
}

#[test]
fn a_second_server_on_the_same_folder_changes_nothing_on_postgres() {
    let Some(database) = Database::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    a_second_server_changes_nothing(dir.path(), &[("DATABASE_URL", &database.url)]);
}

#[test]
fn a_second_signal_ends_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = format!("http://{}", silent.local_addr().unwrap());
    let mut server = Running::serve(dir.path(), &[("GATEWAY_URL", &gateway)]);
    let job = server.upload(dir.path(), "a.pdf", &redrive_gateway::sample::hello()).job();
    crate::running::wait_for("the job runs", || {
        let job = server.operate(dir.path(), "GET", &format!("/api/jobs/{job}")).json();
        (job["status"] == "processing").then_some(())
    });
    server.signal("-TERM");
    crate::running::wait_for("it drains", || std::net::TcpStream::connect(server.address()).err());
    server.signal("-TERM");
    assert_eq!(server.ended(), Some(130));
    assert!(server.err().contains("tried again later"), "{}", server.err());
}

/// Two servers on their first start: both have looked and found no token before either of them can keep its own.
#[test]
fn of_two_first_servers_on_one_database_one_makes_the_token() {
    let Some(database) = Database::new() else { return };
    let (files, one, other) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let (uploads, results) = (place("uploads"), place("results"));
    let settings = [
        ("DATABASE_URL", database.url.as_str()),
        ("UPLOADS_DIR", uploads.as_str()),
        ("RESULTS_DIR", results.as_str()),
    ];
    // Everything but the token is there already, so that it is all that they write.
    assert_eq!(Running::serve(one.path(), &settings).stop(), Some(0));
    database.say("DELETE FROM redrive.settings WHERE key = 'operator/token'");
    let held = database.hold("LOCK TABLE redrive.settings IN EXCLUSIVE MODE");
    let start = |data: &Path| {
        let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
        Running::start(&args, &settings)
    };
    let servers = [start(one.path()), start(other.path())];
    wait_for("both want to keep a token", || {
        let waiting =
            "SELECT count(*) FROM pg_locks WHERE relation = 'redrive.settings'::regclass AND NOT granted";
        (database.number(waiting) == 2).then_some(())
    });
    held.release();
    let told: Vec<String> = servers.iter().map(|server| server.said("token    ")).collect();
    let (made, not): (Vec<&String>, Vec<&String>) = told.iter().partition(|words| words.starts_with("rdo_"));
    assert_eq!((made.len(), not.len()), (1, 1), "{told:?}");
    assert!(not[0].starts_with("made at the first start"), "{not:?}");
    let bearer = format!("Bearer {}", made[0].split_whitespace().next().unwrap());
    for server in &servers {
        let audit = server.ask("GET", "/api/audit", &[("authorization", &bearer)], b"");
        assert_eq!(audit.status, 200, "it opens both");
    }
}

/// The path of the link that it printed.
fn link(server: &Running) -> String {
    let said = server.said("sign in  ");
    let url = said.split_whitespace().next().unwrap().to_owned();
    let path = url.strip_prefix(&format!("http://{}", server.address())).unwrap().to_owned();
    assert!(path.starts_with("/sign-in?code="), "{path}");
    path
}
