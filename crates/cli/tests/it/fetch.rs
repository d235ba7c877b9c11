//! `redrive fetch`, on its own and through a server, against an origin that misbehaves.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use redrive_lab::nobody::Nobody;
use redrive_lab::origin::{Answer, Origin, body_of};
use serde_json::Value;

use crate::process::redrive;
use crate::running::{Running, wait_for};

/// Loopback may be asked, and waits are short.
const SETTINGS: &[(&str, &str)] =
    &[("FETCH_ALLOW_PRIVATE", "true"), ("RETRY_BASE_DELAY_MS", "20"), ("RETRY_JITTER_MAX_MS", "10")];

/// An origin with a runtime of its own, and a folder in which commands are run.
struct World {
    origin: Origin,
    home: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl World {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let origin = runtime.block_on(Origin::start()).unwrap();
        Self { origin, home: tempfile::tempdir().unwrap(), _runtime: runtime }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        self.run_on(args, SETTINGS, None)
    }

    fn run_on(
        &self,
        args: &[&str],
        settings: &[(&str, &str)],
        stdin: Option<&str>,
    ) -> (Option<i32>, String, String) {
        let mut command = redrive(args);
        command.current_dir(self.home.path()).envs(settings.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(stdin.unwrap_or_default().as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// A list of so many addresses, in a file.
    fn list(&self, name: &str, count: usize) -> Vec<String> {
        let paths: Vec<String> = (0..count).map(|n| format!("/{name}/{n}.bin")).collect();
        let urls: Vec<String> = paths.iter().map(|path| self.origin.url(path)).collect();
        fs::write(self.at(&format!("{name}.txt")), urls.join("\n")).unwrap();
        paths
    }
}

/// The content of every file below a folder.
fn contents(folder: &Path) -> Vec<Vec<u8>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            match path.is_dir() {
                true if !hidden => folders.push(path),
                false if !hidden => found.push(fs::read(path).unwrap()),
                true | false => {}
            }
        }
    }
    found.sort();
    found
}

fn bodies(paths: &[String]) -> Vec<Vec<u8>> {
    let mut bodies: Vec<Vec<u8>> = paths.iter().map(|path| body_of(path)).collect();
    bodies.sort();
    bodies
}

#[test]
fn what_is_there_is_stored_what_is_not_is_named_and_only_that_is_asked_for_again() {
    let world = World::new();
    world.origin.say("/gone.pdf", [Answer::status(404)]);
    world.origin.once("/late.pdf", [Answer::status(503), Answer::Reset]);
    let urls = ["/a.pdf", "/late.pdf", "/gone.pdf"].map(|path| world.origin.url(path));
    let [a, late, gone] = &urls;
    let args = ["fetch", a, late, gone, "--to", "out", "--missing", "missing.ndjson"];
    let (code, out, said) = world.run(&args);
    assert_eq!(code, Some(7), "{out}{said}");
    assert_eq!(contents(&world.at("out")), bodies(&["/a.pdf".into(), "/late.pdf".into()]));
    let line = out.lines().find(|line| line.starts_with(a.as_str())).unwrap();
    let (_, path) = line.split_once(" → ").unwrap();
    assert_eq!(fs::read(world.at(path)).unwrap(), body_of("/a.pdf"), "the line says where it is");
    assert!(said.contains("DOWNLOAD_HTTP_4XX") && said.contains("2 stored, 1 failed"), "{said}");
    let missing = fs::read_to_string(world.at("missing.ndjson")).unwrap();
    assert!(missing.contains(gone) && !missing.contains(late.as_str()), "{missing}");
    assert_eq!(world.origin.count("/gone.pdf"), 1, "no 404 is asked for twice");

    let (code, _, said) = world.run(&args);
    assert_eq!(
        (code, world.origin.count("/a.pdf"), world.origin.count("/gone.pdf")),
        (Some(7), 1, 2),
        "{said}"
    );
    world.origin.say("/gone.pdf", [Answer::Right]);
    let (code, out, said) = world.run(&["fetch", "--manifest", "missing.ndjson", "--to", "out"]);
    assert_eq!(code, Some(0), "{out}{said}");
    assert_eq!(contents(&world.at("out")).len(), 3);
    let (code, _, said) = world.run(&args);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 stored, 2 as they were"), "{said}");
}

/// Nobody listens at one address, and another path of a good host breaks off every time: the command ends all the same, and says which.
#[test]
fn a_host_that_is_down_has_an_end() {
    let world = World::new();
    world.origin.say("/breaks", [const { Answer::Reset }; 50]);
    let away = Nobody::new().unwrap();
    let at = away.address().unwrap();
    let nobody: Vec<String> = (0..30).map(|n| format!("http://{at}/{n}")).collect();
    let mut args = vec!["fetch", "--to", "got", "--json"];
    let (good, breaks) = (world.origin.url("/good"), world.origin.url("/breaks"));
    args.extend(nobody.iter().chain([&good, &breaks]).map(String::as_str));
    let settings = [SETTINGS, &[("FETCH_PATIENCE_SEC", "2"), ("CIRCUIT_COOLDOWN_MS", "300")]].concat();
    let (code, out, err) = world.run_on(&args, &settings, None);
    assert_eq!(code, Some(7), "{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends: Vec<&str> = lines.iter().filter_map(|line| line["status"].as_str()).collect();
    assert_eq!(ends.iter().filter(|end| **end == "complete").count(), 1, "{out}");
    assert_eq!(ends.iter().filter(|end| **end == "failed").count(), 31, "{out}");
    assert!(err.contains("DOWNLOAD_CONNECT 3"), "{err}");
    assert_eq!(
        world.origin.count("/breaks"),
        8,
        "two questions each, in a first try and three retries of its own"
    );
}

#[test]
fn a_list_a_document_lines_and_stdin_are_all_taken_and_json_tells_everything() {
    let world = World::new();
    world.list("list", 3);
    let url = world.origin.url("/one.pdf");
    let document =
        format!("{{\n\"manifest_version\": 1,\n\"resources\": [{{\"id\": \"one\", \"url\": \"{url}\"}}]}}");
    fs::write(world.at("m.json"), document).unwrap();
    let (code, out, said) = world.run(&["fetch", "--manifest", "list.txt", "--to", "a"]);
    assert_eq!((code, contents(&world.at("a")).len()), (Some(0), 3), "{out}{said}");
    let (code, out, said) = world.run(&["fetch", "--manifest", "m.json", "--to", "b", "--json"]);
    assert_eq!(code, Some(0), "{out}{said}");
    let line: BTreeMap<String, Value> = serde_json::from_str(out.trim()).unwrap();
    assert_eq!((&line["id"], &line["status"]), (&"one".into(), &"complete".into()));
    assert_eq!(fs::read(world.at("b").join(line["key"].as_str().unwrap())).unwrap(), body_of("/one.pdf"));
    let lines = format!("{{\"id\":\"x\",\"url\":\"{url}\",\"tags\":{{\"k\":\"v\"}}}}\n");
    let args = ["fetch", "--manifest", "-", "--to", "c", "--json"];
    let (code, out, said) = world.run_on(&args, SETTINGS, Some(&lines));
    assert_eq!(code, Some(0), "{out}{said}");
    assert!(out.contains(r#""tags":{"k":"v"}"#), "{out}");
}

#[test]
fn what_must_not_be_asked_is_refused_with_its_line_before_anything_is_fetched() {
    let world = World::new();
    let url = world.origin.url("/a");
    let (code, _, said) = world.run_on(&["fetch", "https://example.com/", &url, "--to", "out"], &[], None);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(
        said.contains("URL 2: port") && said.contains("FETCH_PORTS") && said.contains("nothing was fetched"),
        "{said}"
    );
    assert_eq!((world.origin.requests(), contents(&world.at("out")).len()), (0, 0));
    fs::write(world.at("bad.json"), "{\"manifest_version\": 1, \"resources\": [{\"id\": 7}]}").unwrap();
    let (code, _, said) = world.run(&["fetch", "--manifest", "bad.json", "--to", "out"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, _, said) = world.run(&["fetch", "--manifest", "nowhere.json"]);
    assert_eq!((code, said.lines().count()), (Some(3), 1), "{said}");
    let (code, _, _) = world.run(&["fetch"]);
    assert_eq!(code, Some(2));
}

#[test]
fn killed_in_the_middle_the_same_command_goes_on_and_asks_for_nothing_that_is_stored() {
    let world = World::new();
    let paths = world.list("many", 400);
    for path in &paths {
        world.origin.say(path, [Answer::Drip(body_of(path), 200, Duration::from_millis(5))]);
    }
    let list = world.at("many.txt").display().to_string();
    let (out, data) = (world.at("out").display().to_string(), world.at("data").display().to_string());
    let args = ["fetch", "--manifest", &list, "--to", &out, "--data-dir", &data];
    let mut running = Running::start(&args, SETTINGS);
    wait_for("some are stored", || (contents(&world.at("out")).len() > 60).then_some(()));
    running.signal("-KILL");
    assert_eq!(running.ended(), None, "a signal has no code");
    let stored = contents(&world.at("out")).len();
    assert!(stored < 400, "it was killed in the middle");
    let before = world.origin.requests();
    let (code, told, said) = world.run(&args);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(contents(&world.at("out")), bodies(&paths));
    assert_eq!(told.lines().count(), 400, "every resource is told once");
    let again = before + (world.origin.requests() - before) - 400;
    assert!(again <= 2 * 64, "only what was under way is asked for again, not {again}");
}

#[test]
fn who_asks_for_the_same_again_while_it_is_worked_on_is_refused_and_nothing_is_forgotten() {
    let world = World::new();
    let paths = world.list("slow", 5);
    for path in &paths[1..] {
        world.origin.say(path, [Answer::Silence]);
    }
    let list = world.at("slow.txt").display().to_string();
    let (out, data) = (world.at("out").display().to_string(), world.at("data").display().to_string());
    let args = ["fetch", "--manifest", &list, "--to", &out, "--data-dir", &data];
    let settings = [SETTINGS, &[("DRAIN_TIMEOUT_SEC", "0.1")]].concat();
    let mut running = Running::start(&args, &settings);
    wait_for("one is stored", || (contents(&world.at("out")).len() == 1).then_some(()));
    for more in [&["--again"][..], &[]] {
        let (code, told, said) = world.run(&[&args[..], more].concat());
        assert_eq!((code, told.as_str(), said.lines().count()), (Some(5), "", 1), "{more:?}: {said}");
        assert!(said.contains(&format!("(process {})", running.pid())), "{said}");
    }
    running.signal("-INT");
    assert_eq!(running.ended(), Some(130));
    assert!(running.err().contains("1 stored, 4 not done"), "{}", running.err());
    for path in &paths {
        world.origin.say(path, [Answer::Right]);
    }
    let (code, _, said) = world.run(&args);
    assert!(code == Some(0) && said.contains("4 stored, 1 as they were"), "{said}");
    let (code, _, said) = world.run(&[&args[..], &["--again"]].concat());
    assert!(code == Some(0) && said.contains("5 stored"), "{said}");
}

#[test]
fn what_is_missing_replaces_a_file_as_a_whole_for_its_owner_alone_or_goes_to_stdout() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.origin.say("/gone.pdf?sig=SECRET", [Answer::status(404)]);
    let (here, gone) = (world.origin.url("/a.pdf"), world.origin.url("/gone.pdf?sig=SECRET"));
    let (missing, before) = (world.at("missing.ndjson"), world.at("before.ndjson"));
    fs::write(&missing, "of yesterday").unwrap();
    fs::hard_link(&missing, &before).unwrap();
    let args = ["fetch", &here, &gone, "--to", "out", "--missing"];
    let (code, _, said) = world.run(&[&args[..], &["missing.ndjson"]].concat());
    assert_eq!(code, Some(7), "{said}");
    let text = fs::read_to_string(&missing).unwrap();
    assert!(text.contains("sig=SECRET") && !text.contains("/a.pdf"), "{text}");
    assert_eq!(fs::metadata(&missing).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&before).unwrap(), "of yesterday", "it was replaced, not written over");
    let left = fs::read_dir(world.home.path()).unwrap().flatten();
    let temps = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".missing-"));
    assert_eq!(temps.count(), 0);

    let (code, told, said) = world.run(&[&args[..], &["-"]].concat());
    assert_eq!((code, told.as_str()), (Some(7), text.as_str()), "{said}");
    assert!(!world.at("-").exists());
    let (code, _, said) = world.run(&[&args[..], &["-", "--json"]].concat());
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    // A pipe stays one.
    let (code, told, said) = world.run(&[&args[..], &["/dev/stdout"]].concat());
    assert!(code == Some(7) && told.ends_with(&text), "{told}{said}");
}

/// So often again, and no more: a limit is of retries, beside the first try.
#[test]
fn a_download_is_tried_again_as_often_as_it_is_told() {
    for limit in [0, 1, 3] {
        let world = World::new();
        world.origin.say("/a", [Answer::status(500)]);
        let text = limit.to_string();
        let settings =
            [SETTINGS, &[("DOWNLOAD_RETRY_LIMIT", text.as_str()), ("STORAGE_RETRY_LIMIT", "7")]].concat();
        let (code, _, said) =
            world.run_on(&["fetch", &world.origin.url("/a"), "--to", "out"], &settings, None);
        assert_eq!((code, world.origin.count("/a")), (Some(7), limit + 1), "{said}");
    }
}

#[test]
fn interrupted_it_says_how_to_go_on() {
    let world = World::new();
    let paths = world.list("slow", 50);
    for path in &paths {
        world.origin.say(path, [Answer::Silence]);
    }
    world.origin.say(&paths[0], [Answer::Right]);
    let list = world.at("slow.txt").display().to_string();
    let (out, data) = (world.at("out").display().to_string(), world.at("data").display().to_string());
    let args = ["fetch", "--manifest", &list, "--to", &out, "--data-dir", &data];
    let settings = [SETTINGS, &[("DRAIN_TIMEOUT_SEC", "0.1")]].concat();
    let mut running = Running::start(&args, &settings);
    wait_for("one is stored", || (contents(&world.at("out")).len() == 1).then_some(()));
    running.signal("-INT");
    let code = running.ended();
    let said = running.err();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("1 stored, 49 not done; the same command goes on from here"), "{said}");
    for path in &paths {
        world.origin.say(path, [Answer::Right]);
    }
    let (code, _, said) = world.run(&args);
    assert_eq!((code, contents(&world.at("out")).len()), (Some(0), 50), "{said}");
}

#[test]
fn through_a_server_the_same_is_told_and_the_objects_lie_there() {
    let world = World::new();
    world.origin.say("/gone", [Answer::status(404)]);
    let data = world.at("data");
    let server = Running::serve(&data, SETTINGS);
    let url = format!("http://{}", server.address());
    let (a, gone) = (world.origin.url("/a"), world.origin.url("/gone"));
    let data_dir = data.display().to_string();
    let args = ["fetch", &a, &gone, "--server", &url, "--data-dir", &data_dir, "--missing", "m.ndjson"];
    let (code, out, said) = world.run(&args);
    assert_eq!(code, Some(7), "{out}{said}");
    assert!(
        out.contains(&a) && said.contains("DOWNLOAD_HTTP_4XX") && said.contains("1 stored, 1 failed"),
        "{said}"
    );
    assert_eq!(contents(&data.join("fetched")), [body_of("/a")]);
    assert!(fs::read_to_string(world.at("m.ndjson")).unwrap().contains(&gone));
    let (code, _, said) = world.run(&["fetch", "ftp://x/", "--server", &url, "--data-dir", &data_dir]);
    assert_eq!(code, Some(2), "{said}");
    // Near a server nobody has to name it.
    let (code, _, said) = world.run(&["fetch", &world.origin.url("/b"), "--data-dir", &data_dir]);
    assert_eq!((code, contents(&data.join("fetched")).len()), (Some(0), 2), "{said}");
}

#[test]
fn a_server_that_is_killed_and_comes_back_is_followed_to_the_end() {
    let world = World::new();
    let paths = world.list("many", 300);
    for path in &paths {
        world.origin.say(path, [Answer::Drip(body_of(path), 200, Duration::from_millis(5))]);
    }
    let data = world.at("data");
    let settings = [SETTINGS, &[("WORKER_LEASE_TTL_SEC", "2")]].concat();
    let mut server = Running::serve(&data, &settings);
    let (list, data_dir) = (world.at("many.txt").display().to_string(), data.display().to_string());
    let mut client = Running::start(&["fetch", "--manifest", &list, "--data-dir", &data_dir], SETTINGS);
    let fetched = data.join("fetched");
    wait_for("some are stored", || (contents(&fetched).len() > 30).then_some(()));
    server.signal("-KILL");
    server.ended();
    assert!(contents(&fetched).len() < 300, "it was killed in the middle");
    wait_for("the client tells", || client.err().contains("waiting for it").then_some(()));
    // On another port, with another token for its neighbours.
    let _server = Running::serve(&data, &settings);
    let code = client.ended();
    let said = client.err();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the server answers again") && said.contains("300 stored"), "{said}");
    assert_eq!(client.out().lines().count(), 300, "every resource is told once");
    assert_eq!(contents(&fetched), bodies(&paths));
}

#[test]
fn through_a_server_the_same_command_tries_again_what_failed_and_nothing_else() {
    let world = World::new();
    world.origin.say("/gone", [Answer::status(404)]);
    let data = world.at("data");
    let server = Running::serve(&data, SETTINGS);
    let url = format!("http://{}", server.address());
    let (a, gone) = (world.origin.url("/a"), world.origin.url("/gone"));
    let data_dir = data.display().to_string();
    let args = ["fetch", &a, &gone, "--server", &url, "--data-dir", &data_dir];
    let counts = || (world.origin.count("/a"), world.origin.count("/gone"));
    let (code, _, said) = world.run(&args);
    assert_eq!((code, counts()), (Some(7), (1, 1)), "{said}");
    let (code, _, said) = world.run(&args);
    assert_eq!((code, counts()), (Some(7), (1, 2)), "{said}");
    assert!(said.contains("0 stored, 1 as they were, 1 failed"), "{said}");
    world.origin.say("/gone", [Answer::Right]);
    let (code, out, said) = world.run(&args);
    assert_eq!((code, counts(), out.lines().count()), (Some(0), (1, 3), 2), "{out}{said}");
    assert!(said.contains("1 stored, 1 as they were"), "{said}");
    let (code, _, said) = world.run(&args);
    assert_eq!((code, counts()), (Some(0), (1, 3)), "{said}");
    assert!(said.contains("0 stored, 2 as they were"), "{said}");
}

#[test]
fn what_is_wrong_is_told_by_the_places_of_the_list_whatever_is_wished() {
    let world = World::new();
    let server = Running::serve(&world.at("data"), SETTINGS);
    let (url, data) = (format!("http://{}", server.address()), world.at("data").display().to_string());
    fs::write(world.at("list.txt"), format!("{}\nwww.example.com/a.pdf\n", world.origin.url("/a"))).unwrap();
    let list = ["fetch", "--manifest", "list.txt", "--tolerant"];
    let through = [&list[..], &["--server", &url, "--data-dir", &data, "--to", "scans"]].concat();
    for args in [&list[..], &through] {
        let (code, _, said) = world.run(args);
        let told = "nothing was fetched: line 2: it does not begin with http:// or https://\n";
        assert!(code == Some(2) && said.ends_with(told), "{said}");
    }
    let wrong = ["fetch", &world.origin.url("/a"), "--server", &url, "--data-dir", &data, "--to", "/etc"];
    let (code, _, said) = world.run(&wrong);
    assert!(code == Some(2) && said.contains("--to: lies neither under the server's FETCH_TO"), "{said}");
    assert_eq!(world.origin.requests(), 0);
}

#[test]
fn a_signed_address_is_fetched_whatever_its_length_and_told_to_nobody() {
    let world = World::new();
    let signature = "7".repeat(700);
    let path = |name: &str| format!("/{name}.pdf?X-Amz-Signature=CANARY{signature}");
    let (good, gone) = (world.origin.url(&path("good")), world.origin.url(&path("gone")));
    world.origin.say(&path("gone"), [Answer::status(404)]);
    fs::write(world.at("list.txt"), format!("{good}\n{gone}\n")).unwrap();
    let asked: [&[&str]; 3] =
        [&[&good, &gone], &["--manifest", "list.txt"], &["--manifest", "list.txt", "--json"]];
    for (n, asked) in asked.into_iter().enumerate() {
        let args = [&["fetch", "--to", "out", "--missing", "missing.ndjson"], asked].concat();
        let (code, out, said) = world.run(&args);
        assert_eq!(code, Some(7), "{said}");
        assert!(!out.contains("CANARY") && !said.contains("CANARY"), "{out}{said}");
        assert!(out.contains("good.pdf?X-Amz-Signature=*** ~"), "{out}");
        let missing = fs::read_to_string(world.at("missing.ndjson")).unwrap();
        assert!(
            missing.contains(&gone) && missing.lines().count() == 2,
            "what is missing can be asked for: {missing}"
        );
        assert_eq!(world.origin.count(&path("good")), 1, "round {n}: it is the same resource, and stored");
        assert_eq!(contents(&world.at("out")).len(), 1);
    }
}

/// A file that was last written so many hours ago.
fn left(path: &Path, hours: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "12345").unwrap();
    let written = fs::metadata(path).unwrap().modified().unwrap();
    let at = written - Duration::from_secs(hours * 3_600);
    fs::File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
}

/// Also covers: M39.
#[test]
fn what_runs_that_were_killed_left_behind_is_removed_when_it_is_old() {
    let world = World::new();
    for old in ["out/.redrive-temp/old", "redrive-data/handler/.tmpold"] {
        left(&world.at(old), 25);
    }
    left(&world.at("out/.redrive-temp/young"), 1);
    let (code, _, said) = world.run(&["fetch", &world.origin.url("/a"), "--to", "out"]);
    assert_eq!(code, Some(0), "{said}");
    for old in ["out/.redrive-temp/old", "redrive-data/handler/.tmpold"] {
        assert!(!world.at(old).exists(), "{old}");
    }
    assert!(world.at("out/.redrive-temp/young").exists(), "somebody may come back to it");
    assert_eq!(contents(&world.at("out")), [body_of("/a")]);
}

#[test]
fn a_server_removes_what_downloads_left_behind_in_all_its_places() {
    let world = World::new();
    let (data, also) = (world.at("data"), world.at("also"));
    let settings =
        [SETTINGS, &[("FETCH_TO_ALSO", also.to_str().unwrap()), ("RETENTION_INTERVAL_SEC", "0.2")]].concat();
    let server = Running::serve(&data, &settings);
    let old = ["data/fetched/.redrive-temp/old", "also/.redrive-temp/old", "data/handler/.tmpold"];
    for round in 0..2 {
        for old in old {
            left(&world.at(old), 25);
        }
        wait_for(&format!("round {round}"), || old.iter().all(|old| !world.at(old).exists()).then_some(()));
    }
    assert_eq!(server.stop(), Some(0));
}
