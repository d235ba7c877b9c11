use crate::process::{Server, run};

#[test]
fn serve_says_where_everything_is_and_ends_cleanly() {
    for signal in ["-TERM", "-INT"] {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(dir.path());
        assert_eq!(server.get("/healthz").0, 200);
        assert_eq!(server.get("/readyz").0, 200);
        let (code, rest) = server.stop(signal);
        assert_eq!(code, Some(0), "{signal}");
        assert!(rest.contains("redrive.db"), "{rest}");
    }
}

#[test]
fn a_second_server_on_the_same_data_fails_with_one_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", dir.path().to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(5));
    let message = String::from_utf8(second.stderr).unwrap();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("in use by another redrive process"), "{message}");
    assert_eq!(server.get("/readyz").0, 200, "the first one goes on");
}

#[test]
fn a_killed_server_leaves_data_that_the_next_one_opens() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _) = Server::start(dir.path()).stop("-KILL");
    assert_eq!(code, None);
    assert_eq!(Server::start(dir.path()).get("/readyz").0, 200);
}

#[test]
fn the_data_folder_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("new");
    let server = Server::start(&data);
    assert_eq!(std::fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
    drop(server);
}

#[test]
fn the_registry_is_served_and_unknown_things_are_problems() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (status, body) = server.get("/api/failures/GW_TIMEOUT");
    assert_eq!(status, 200);
    assert!(body.contains(r#""message":"Conversion is taking too long.""#), "{body}");
    assert!(server.get("/api/failures").1.matches(r#""code":"#).count() > 90);
    for path in ["/api/failures/NO_SUCH", "/api/nothing", "/api/failures/%00%ff"] {
        let (status, body) = server.get(path);
        assert!(status == 404 || status == 400, "{path}: {status}");
        assert!(status == 400 || body.contains(r#""code":"NOT_FOUND""#), "{path}: {body}");
    }
}

#[test]
fn the_gateway_is_built_in_and_what_it_can_make_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (status, body) = server.get("/api/status");
    assert_eq!(status, 200, "{body}");
    assert!(body.contains(r#""accepting":true"#), "{body}");
    while !server.get("/api/mappings").1.contains(r#""name":"docbook""#) {
        std::thread::yield_now();
    }
    assert!(server.get("/api/jobs").1.contains(r#""jobs":[]"#));
    assert!(dir.path().join("uploads").is_dir() && dir.path().join("results").is_dir());
    let (_, rest) = server.stop("-TERM");
    assert!(rest.contains(", built in"), "{rest}");
}
