//! `NATS_URL`: a server tells NATS, or says why it cannot.

use crate::process::redrive;

#[cfg(not(feature = "nats"))]
#[test]
fn a_program_without_the_sink_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = redrive(&["serve", "--listen", "127.0.0.1:0"]);
    let output =
        command.current_dir(dir.path()).env("NATS_URL", "nats://u:CANARY@127.0.0.1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--features nats") && !said.contains("CANARY"), "{said}");
}

#[test]
fn the_address_is_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = redrive(&["config", "show"]);
    let output =
        command.current_dir(dir.path()).env("NATS_URL", "nats://u:CANARY@127.0.0.1").output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("NATS_URL") && !shown.contains("CANARY"), "{shown}");
}

#[cfg(feature = "nats")]
mod with_it {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command, Stdio};

    use redrive_fetch::wire::{DeadLetterTask, Message};

    use crate::process::redrive;
    use crate::running::{Running, wait_for};

    const PROGRAM: &str = "/usr/sbin/nats-server";

    /// Debian's server with JetStream; it ends with its test.
    struct Nats(Child);

    impl Drop for Nats {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    impl Nats {
        /// With somebody who listens; nothing where there is no such server.
        fn start(folder: &std::path::Path) -> Option<(Self, u16, BufReader<TcpStream>)> {
            if !std::path::Path::new(PROGRAM).exists() {
                println!("skipped: there is no nats-server; `apt-get install nats-server` brings it");
                return None;
            }
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            // It takes little, so that a letter is soon too long.
            let settings = folder.join("nats.conf");
            std::fs::write(&settings, "max_payload: 65536\n").unwrap();
            let started = Command::new(PROGRAM)
                .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
                .arg(folder.join("nats"))
                .arg("-c")
                .arg(settings)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            let nats = Self(started.unwrap());
            Some((nats, port, wait_for("the NATS server", || listen(port))))
        }
    }

    #[test]
    fn a_letter_that_a_stranger_made_too_long_is_shortened_and_blocks_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let Some((_nats, port, mut listener)) = Nats::start(dir.path()) else { return };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let origin = runtime.block_on(redrive_lab::origin::Origin::start()).unwrap();
        origin.say("/gone", [redrive_lab::origin::Answer::status(404)]);
        let (data, url) = (dir.path().join("data"), format!("nats://127.0.0.1:{port}"));
        let server = Running::serve(&data, &[("NATS_URL", &url), ("FETCH_ALLOW_PRIVATE", "true")]);
        // Without its secrets every `&` of a URL is four characters.
        let long = format!("https://h/?{}", "&".repeat(8_000));
        let tags: std::collections::BTreeMap<String, &String> =
            (0..8).map(|n| (n.to_string(), &long)).collect();
        let gone = origin.url("/gone");
        for tags in [serde_json::json!(tags), serde_json::json!({"k": "v"})] {
            let resource = serde_json::json!({"id": "1", "url": gone, "tags": tags});
            let manifest = serde_json::json!({"manifest_version": 1, "resources": [resource]}).to_string();
            let json = [("content-type", "application/json")];
            let answer = server.ask("POST", "/api/fetch", &json, manifest.as_bytes());
            assert_eq!(answer.status, 202, "{}", answer.body);
        }
        // At least once: a letter may come again.
        let (mut long, mut plain) = (None, None);
        while long.is_none() || plain.is_none() {
            let letter = DeadLetterTask::decode(message(&mut listener).as_slice()).unwrap();
            assert_eq!(letter.failure_code, "DOWNLOAD_HTTP_4XX");
            let kind = if letter.metadata.contains_key("shortened") { &mut long } else { &mut plain };
            *kind = Some(letter);
        }
        assert_eq!(long.unwrap().metadata["shortened"], "tags");
        assert_eq!(plain.unwrap().task.unwrap().attributes.unwrap().tags["k"], "v");
        assert_eq!(server.stop(), Some(0));
    }

    #[test]
    fn a_dead_letter_is_published() {
        let dir = tempfile::tempdir().unwrap();
        let Some((_nats, port, mut listener)) = Nats::start(dir.path()) else { return };
        let (data, url) = (dir.path().join("data"), format!("nats://127.0.0.1:{port}"));
        let server = Running::serve(&data, &[("NATS_URL", &url)]);
        let id = server.upload(&data, "broken.pdf", b"%PDF-1.7\nnothing\ntrailer\n").job();
        let sent = DeadLetterTask::decode(message(&mut listener).as_slice()).unwrap();
        assert_eq!((sent.failure_code.as_str(), &sent.metadata["job"]), ("GW_4XX", &id));
        assert_eq!(sent.task.unwrap().resource_id, "broken.pdf");
        assert_eq!(server.stop(), Some(0));
        // Without the address the reader is gone: nothing keeps events for it.
        let server = Running::serve(&data, &[]);
        assert!(server.err().contains("NATS_URL is no longer set"), "{}", server.err());
        assert_eq!(server.stop(), Some(0));
    }

    #[test]
    fn what_is_no_address_is_said_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = redrive(&["serve", "--listen", "127.0.0.1:0"]);
        let output = command.current_dir(dir.path()).env("NATS_URL", "http://u:CANARY@h").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("NATS_URL: ") && !said.contains("CANARY"), "{said}");
    }

    /// A plain subscriber of the dead letters.
    fn listen(port: u16) -> Option<BufReader<TcpStream>> {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
        socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        socket.write_all(b"CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB jobs.dlq 1\r\n").unwrap();
        Some(BufReader::new(socket))
    }

    /// The body of the next message.
    fn message(from: &mut BufReader<TcpStream>) -> Vec<u8> {
        loop {
            let mut line = String::new();
            from.read_line(&mut line).unwrap();
            if let Some(words) = line.strip_prefix("HMSG ") {
                let sizes: Vec<usize> =
                    words.split_whitespace().rev().take(2).map(|n| n.parse().unwrap()).collect();
                let (mut body, head) = (vec![0; sizes[0]], sizes[1]);
                from.read_exact(&mut body).unwrap();
                return body.split_off(head);
            }
            if line.starts_with("PING") {
                from.get_mut().write_all(b"PONG\r\n").unwrap();
            }
        }
    }
}
