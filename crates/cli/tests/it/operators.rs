//! What `serve` leaves for operators: a link, a token, and a file for the command line.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::postgres::Database;
use crate::process::redrive;
use crate::running::{Running, ask, server_file};

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
    assert!(!server.out().contains("token  "), "told once: {}", server.out());
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

/// The path of the link that it printed.
fn link(server: &Running) -> String {
    let said = server.said("sign in  ");
    let url = said.split_whitespace().next().unwrap().to_owned();
    let path = url.strip_prefix(&format!("http://{}", server.address())).unwrap().to_owned();
    assert!(path.starts_with("/sign-in?code="), "{path}");
    path
}
