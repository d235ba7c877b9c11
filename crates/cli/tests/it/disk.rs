//! A server on a disk that is really small. Without the right to mount one these say so and skip.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use redrive_gateway::sample::hello;

use crate::running::{Running, wait_for};

/// A disk of a few megabytes, unmounted when it is dropped.
struct SmallDisk {
    at: PathBuf,
    _home: tempfile::TempDir,
}

impl SmallDisk {
    #[expect(clippy::print_stdout, reason = "a test that skips says so")]
    fn mount(size: &str) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().join("disk");
        std::fs::create_dir(&at).unwrap();
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&at).output();
        if !mounted.is_ok_and(|mounted| mounted.status.success()) {
            println!("this process may not mount a small disk: skipped");
            return None;
        }
        Some(Self { at, _home: home })
    }

    fn path(&self) -> &Path {
        &self.at
    }

    /// Fills it until so many bytes are left, or to the brim.
    fn fill(&self, leave: u64) -> PathBuf {
        let ballast = self.at.join("ballast");
        let mut file = std::fs::File::create(&ballast).unwrap();
        let block = vec![7; 4096];
        loop {
            let stat = Command::new("stat").args(["-f", "-c", "%a %S"]).arg(&self.at).output().unwrap();
            let numbers = String::from_utf8(stat.stdout).unwrap();
            let (blocks, size) = numbers.trim().split_once(' ').unwrap();
            let free = blocks.parse::<u64>().unwrap() * size.parse::<u64>().unwrap();
            if free <= leave {
                return ballast;
            }
            for _ in 0..(free - leave).div_ceil(4096) {
                if file.write_all(&block).is_err() {
                    return ballast;
                }
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

fn job(server: &Running, data: &Path, id: &str) -> serde_json::Value {
    server.operate(data, "GET", &format!("/api/jobs/{id}")).json()
}

fn files(under: &Path) -> usize {
    let entries = std::fs::read_dir(under).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

#[test]
fn a_result_that_finds_the_disk_full_waits_uncharged_and_is_made_when_there_is_room() {
    let Some(disk) = SmallDisk::mount("2m") else { return };
    let data = tempfile::tempdir().unwrap();
    let results = disk.path().join("results");
    let settings =
        [("RESULTS_DIR", results.to_str().unwrap()), ("DISK_HARD_BYTES", "0"), ("DISK_SOFT_BYTES", "0")];
    let server = Running::serve(data.path(), &settings);
    let ballast = disk.fill(0);
    let before = files(&results);
    let id = server.upload(data.path(), "a.pdf", &hello()).job();
    let disk_of = |status: &serde_json::Value| {
        status["breakers"].as_array().unwrap().iter().find(|breaker| breaker["target"] == "disk").cloned()
    };
    let held = wait_for("the disk is told", || {
        disk_of(&server.ask("GET", "/api/status", &[], b"").json()).filter(|disk| disk["held_jobs"] == 1)
    });
    assert_eq!(held["state"], "throttled", "{held}");
    let waiting = job(&server, data.path(), &id);
    // A moment after it was given back it is due again, and claimed by nobody.
    assert!(matches!(waiting["status"].as_str(), Some("queued" | "waiting_retry")), "{waiting}");
    assert_eq!(waiting["attempt"], 0, "nothing was charged: {waiting}");
    assert_eq!(files(&results), before, "nothing half-written is left");
    assert_eq!(server.ask("GET", "/readyz", &[], b"").status, 200);
    std::fs::remove_file(ballast).unwrap();
    let done = wait_for("it goes on by itself", || {
        Some(job(&server, data.path(), &id)).filter(|job| job["status"] == "complete")
    });
    assert_eq!((done["attempt"].as_u64(), done["can_download"].as_bool()), (Some(1), Some(true)), "{done}");
    let events = server.operate(data.path(), "GET", &format!("/api/jobs/{id}/events")).body;
    assert!(events.contains("\"released\"") && !events.contains("\"retry\""), "{events}");
    assert_eq!(server.operate(data.path(), "GET", &format!("/api/jobs/{id}/download")).status, 200);
}

#[test]
fn below_the_soft_limit_it_is_warned_and_below_the_hard_one_refused_before_the_body() {
    let Some(disk) = SmallDisk::mount("64m") else { return };
    let settings = [("DISK_SOFT_BYTES", "134217728"), ("DISK_HARD_BYTES", "33554432")];
    let data = disk.path().join("data");
    let server = Running::serve(&data, &settings);
    let status = |server: &Running| server.ask("GET", "/api/status", &[], b"").json();
    assert_eq!(
        (status(&server)["disk"].as_str(), status(&server)["accepting"].as_bool()),
        (Some("low"), Some(true))
    );
    assert_eq!(server.upload(&data, "a.pdf", &hello()).status, 201);
    let ballast = disk.fill(16 << 20);
    assert_eq!(
        (status(&server)["disk"].as_str(), status(&server)["accepting"].as_bool()),
        (Some("full"), Some(false))
    );
    // Not a byte of the body is ever sent.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = "POST /api/upload HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 100000\r\n\
                content-type: multipart/form-data; boundary=x\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..n]);
    }
    let answer = String::from_utf8_lossy(&answer).to_lowercase();
    assert!(answer.starts_with("http/1.1 503") && answer.contains("retry-after: 30"), "{answer}");
    let free = server.metrics();
    let free = free.lines().find_map(|line| line.strip_prefix("redrive_disk_free_bytes ")).unwrap();
    assert!(free.parse::<f64>().unwrap() <= f64::from(16 << 20), "{free}");
    std::fs::remove_file(ballast).unwrap();
    assert_eq!(
        server.upload(&data, "b.pdf", &[&hello()[..], b"\n% b"].concat()).status,
        201,
        "it goes on by itself"
    );
}

/// What goes to a disk without room is refused or stays where it is; what goes elsewhere goes on.
#[test]
fn each_disk_counts_for_what_is_written_to_it() {
    let Some(disk) = SmallDisk::mount("64m") else { return };
    let data = tempfile::tempdir().unwrap();
    let (people, fetched) = (disk.path().join("people"), disk.path().join("fetched"));
    let intake = format!("file://{}", people.display());
    let settings = [
        ("INTAKE_URL", intake.as_str()),
        ("INTAKE_INTERVAL_SEC", "0.2"),
        ("FETCH_TO", fetched.to_str().unwrap()),
        ("DISK_SOFT_BYTES", "33554432"),
        ("DISK_HARD_BYTES", "33554432"),
    ];
    let ballast = disk.fill(16 << 20);
    let server = Running::serve(data.path(), &settings);
    let manifest = br#"{"manifest_version":1,"resources":[{"id":"a","url":"https://a.invalid/"}]}"#;
    let hand_in = || server.ask("POST", "/api/fetch", &[("content-type", "application/json")], manifest);
    let refused = hand_in();
    assert!(refused.status == 503 && refused.head.contains("retry-after: 30"), "{refused:?}");
    std::fs::write(people.join("queue/a.pdf"), hello()).unwrap();
    let board = || server.operate(data.path(), "GET", "/api/intake").body;
    wait_for("intake says why it takes nothing", || {
        board().contains("the disk is nearly full").then_some(())
    });
    assert!(people.join("queue/a.pdf").exists());
    assert_eq!(server.upload(data.path(), "b.pdf", &hello()).status, 201, "it goes to another disk");
    std::fs::remove_file(ballast).unwrap();
    assert_eq!(hand_in().status, 202);
    wait_for("intake goes on by itself", || people.join("result/a.pdf").exists().then_some(()));
}

#[test]
fn a_disk_that_is_full_for_database_and_files_loses_nothing_and_recovers_without_a_restart() {
    let Some(disk) = SmallDisk::mount("32m") else { return };
    let data = disk.path().join("data");
    let settings = [("DISK_SOFT_BYTES", "0"), ("DISK_HARD_BYTES", "0")];
    let server = Running::serve(&data, &settings);
    let first = server.upload(&data, "a.pdf", &hello()).job();
    wait_for("the first", || (job(&server, &data, &first)["status"] == "complete").then_some(()));
    let ballast = disk.fill(0);
    let mut accepted = Vec::new();
    for n in 0..5 {
        let answer = server.upload(&data, "b.pdf", &[&hello()[..], format!("\n% {n}").as_bytes()].concat());
        match answer.status {
            201 => accepted.push(answer.job()),
            // Where the store still answers the refusal is a job, else only an answer.
            500 | 503 => {}
            other => panic!("{other}: {answer:?}"),
        }
    }
    assert_eq!(server.ask("GET", "/api/status", &[], b"").status, 200, "reading goes on");
    assert_eq!(server.operate(&data, "GET", &format!("/api/jobs/{first}/download")).status, 200);
    std::fs::remove_file(ballast).unwrap();
    let last = wait_for("uploads are taken again", || {
        let answer = server.upload(&data, "c.pdf", &[&hello()[..], b"\n% last"].concat());
        (answer.status == 201).then(|| answer.job())
    });
    for id in accepted.iter().chain([&last]) {
        wait_for("what was accepted is done", || {
            let job = job(&server, &data, id);
            assert_ne!(job["status"], "failed", "{job}");
            (job["status"] == "complete").then_some(())
        });
    }
    let audit = server.operate(&data, "GET", "/api/auditor").json();
    assert_eq!(audit["clean"], true, "{audit}");
}
