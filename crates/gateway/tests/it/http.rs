//! The contract, asked over real sockets of a real server with real children.

use std::time::Duration;

use redrive_gateway::write::Mapping;
use redrive_gateway::write::verify::{Limits, verify};

use crate::client::{Client, Server, form, get, post, process, until_status};

fn server() -> Server {
    Server::start(|_| ())
}

#[test]
fn a_file_is_converted_in_every_mapping() {
    let server = server();
    for mapping in Mapping::ALL {
        let answer = server.ask(&process("say hello world", mapping.name()));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/xml"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-pages"), Some("10"));
        assert_eq!(answer.header("x-warnings"), None);
        answer.header("x-duration-ms").unwrap().parse::<u64>().unwrap();
        assert!(answer.text().contains("hello"));
        verify(&answer.body[..], Limits { depth: 20, bytes: 1 << 20 }).unwrap();
        let again = server.ask(&process("say hello world", mapping.name()));
        assert_eq!(again.body, answer.body, "the same file gave other bytes");
    }
}

#[test]
fn a_range_of_pages_and_warnings() {
    let server = server();
    let fields: [(&str, &[u8]); 3] = [("file", b"%PDF-warn"), ("pages", b"2-4"), ("mapping", b"text")];
    let answer = server.ask(&post("/process", "Accept: text/html, */*;q=0.1\r\n", &form(&fields)));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-pages"), Some("3"));
    let warnings = "no-text-layer,repaired,unmapped-glyphs,replaced-characters,unreadable-pages";
    assert_eq!(answer.header("x-warnings"), Some(warnings));
}

#[test]
fn a_large_result_is_streamed_whole() {
    let server = Server::start(|settings| settings.cage.cpu = Duration::from_secs(30));
    let script = format!("say {}", "word ".repeat(5_000).trim());
    let answer = server.ask(&process(&script, "text"));
    assert_eq!(answer.status, 200);
    assert!(answer.body.len() > 1_000_000, "{}", answer.body.len());
    let elements = verify(&answer.body[..], Limits { depth: 20, bytes: 1 << 30 }).unwrap();
    assert_eq!(elements, 1 + 10 * (3 + 5_000));
}

#[test]
fn refusals_are_exactly_those_of_the_contract() {
    let server = server();
    let file = |script: &'static str| ("file", script.as_bytes());
    let text: (&str, &[u8]) = ("mapping", b"text");
    for (fields, headers, status, code) in [
        (vec![file("%PDF-say x")], "", 400, "missing_mapping"),
        (vec![file("%PDF-say x"), ("mapping", b" ")], "", 400, "missing_mapping"),
        (vec![file("%PDF-say x"), ("mapping", b"word")], "", 406, "unknown_mapping"),
        (vec![file("%PDF-say x"), text], "Accept: application/json\r\n", 406, "not_acceptable"),
        (vec![file("%PDF-say x"), text], "Content-Encoding: gzip\r\n", 415, "unsupported_media_type"),
        (vec![file("hello"), text], "", 400, "invalid_pdf"),
        (vec![file(""), text], "", 400, "invalid_pdf"),
        (vec![text], "", 400, "invalid_pdf"),
        (vec![file("%PDF-refuse password"), text], "", 400, "password_required"),
        (vec![file("%PDF-refuse encryption"), text], "", 400, "unsupported_encryption"),
        (vec![file("%PDF-refuse pages"), text], "", 400, "too_many_pages"),
        (vec![file("%PDF-refuse limit"), text], "", 400, "limit_exceeded"),
        (vec![file("%PDF-panic"), text], "", 400, "limit_exceeded"),
        (vec![file("%PDF-stack"), text], "", 400, "limit_exceeded"),
        (vec![file("%PDF-loop"), text], "", 400, "limit_exceeded"),
        (vec![file("%PDF-say x"), text, ("pages", b"3-1")], "", 400, "invalid_request"),
        (vec![file("%PDF-say x"), file("%PDF-say y"), text], "", 400, "invalid_request"),
        (vec![file("%PDF-say x"), text, text], "", 400, "invalid_request"),
        (vec![file("%PDF-say x"), ("mapping", &[b'x'; 5000])], "", 400, "invalid_request"),
    ] {
        let answer = server.ask(&post("/process", headers, &form(&fields)));
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{fields:?}");
        assert_eq!(answer.header("retry-after"), None);
        assert_eq!(answer.json()["retryable"], false);
    }
}

#[test]
fn a_sentence_of_the_reader_is_cleaned() {
    let answer = server().ask(&process("refuse other", "text"));
    assert_eq!(answer.json()["detail"], "So it says.[31m");
}

#[test]
fn only_multipart_is_taken() {
    let server = server();
    for kind in ["application/pdf", "multipart/form-data", "multipart/mixed; boundary=XX"] {
        let request = format!(
            "POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: 4\r\n\r\n%PDF"
        );
        let answer = server.ask(request.as_bytes());
        assert_eq!((answer.status, answer.code().as_str()), (415, "unsupported_media_type"), "{kind}");
    }
    let answer = server.ask(b"POST /process HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(answer.status, 415);
}

#[test]
fn size_is_counted_while_it_comes() {
    let server = Server::start(|settings| settings.cage.input = 100_000);
    let head = "POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=XX\r\n";
    let too_large = [b"%PDF-say x ".as_slice(), &vec![b'y'; 100_000]].concat();
    let body = form(&[("mapping", b"text"), ("file", &too_large)]);
    // Honest about a little too much, and about far too much.
    for length in [body.len(), 1 << 40] {
        let mut client = server.connect();
        client.send(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes());
        client.send(&body);
        let answer = client.answer();
        assert_eq!((answer.status, answer.code().as_str()), (413, "too_large"), "{length}");
    }
    // Silent about it.
    let mut client = server.connect();
    client.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", body.len()).as_bytes());
    client.send(&body);
    client.send(b"\r\n0\r\n\r\n");
    assert_eq!(client.answer().code(), "too_large");
    // Asking first: the body is not wanted.
    let mut client = server.connect();
    client.send(format!("{head}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n", 1_u64 << 40).as_bytes());
    let answer = client.one_answer();
    assert_eq!((answer.status, answer.code().as_str()), (413, "too_large"));
    // Exactly as much as allowed, asked for first.
    let fits = form(&[("mapping", b"text"), ("file", &too_large[..100_000])]);
    let mut client = server.connect();
    client.send(format!("{head}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n", fits.len()).as_bytes());
    assert_eq!(client.one_answer().status, 100);
    client.send(&fits);
    assert_eq!(client.answer().status, 200);
}

#[test]
fn a_client_that_writes_first_and_reads_later_sees_the_refusal() {
    let server = Server::start(|settings| settings.cage.input = 100_000);
    let body = form(&[("mapping", b"text"), ("file", &vec![b'y'; 30 << 20])]);
    let answer = server.ask(&post("/process", "", &body));
    assert_eq!((answer.status, answer.code().as_str()), (413, "too_large"));
}

#[test]
fn a_body_that_breaks_off_or_stands_still() {
    let server = Server::start(|settings| {
        settings.limits.body_grace = Duration::from_millis(200);
        settings.limits.body_rate = 1 << 30;
    });
    let whole = process("say x", "text");
    let mut client = server.connect();
    client.send(&whole[..whole.len() - 10]);
    let answer = client.answer();
    assert_eq!((answer.status, answer.code().as_str()), (408, "request_timeout"));
    // A good rate does not help for ever.
    let patient = Server::start(|settings| {
        settings.limits.body_grace = Duration::from_secs(3600);
        settings.limits.body_time = Duration::from_millis(200);
    });
    let mut client = patient.connect();
    client.send(&whole[..whole.len() - 10]);
    assert_eq!(client.answer().code(), "request_timeout");
    let answer =
        server.ask(&post("/process", "", b"--XX\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx"));
    assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_request"));
}

/// A client whose child holds the only place.
fn occupy(server: &Server) -> Client {
    let mut client = server.connect();
    client.send(&process("sleep", "text"));
    while server.ask(&process("say x", "text")).status != 503 {
        // It may have come while the other was served.
        if !client.is_silent(Duration::from_millis(1)) {
            assert_eq!(client.answer().status, 503);
            client.send(&process("sleep", "text"));
        }
    }
    client
}

#[test]
fn too_many_are_sent_away_and_a_client_that_leaves_frees_its_child() {
    let server = Server::start(|settings| {
        settings.children = 1;
        settings.line = 0;
    });
    let first = occupy(&server);
    let answer = server.ask(&process("say x", "text"));
    assert_eq!((answer.status, answer.code().as_str()), (503, "busy"));
    assert_eq!(answer.header("retry-after"), Some("2"));
    assert_eq!(answer.json()["retryable"], true);
    // Before the body: a client that asks first is not told to go on.
    let mut asking = server.connect();
    asking.send(
        b"POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=XX\r\n\
          Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
    );
    assert_eq!(asking.one_answer().status, 503);
    // The health check does not wait in line.
    assert_eq!(server.ask(&get("/health")).status, 200);
    drop(first);
    until_status(&server, &process("say x", "text"), 200);
}

#[test]
fn a_place_in_line_is_waited_for() {
    let server = Server::start(|settings| {
        settings.children = 1;
        settings.line = 8;
    });
    let answers: Vec<u16> = std::thread::scope(|scope| {
        let asking: Vec<_> =
            (0..6).map(|_| scope.spawn(|| server.ask(&process("say x", "text")).status)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    assert_eq!(answers, [200; 6]);
}

#[test]
fn what_has_begun_may_finish_and_nothing_begins_after() {
    let mut server = server();
    let request = process("say x", "text");
    let (head, tail) = request.split_at(request.len() - 5);
    let mut begun = server.connect();
    begun.send(head);
    let mut idle = server.connect();
    idle.send(&get("/mappings"));
    assert_eq!(idle.answer().status, 200);
    let mut late = server.connect();
    late.send(b"POST /process HTTP/1.1\r\n");
    // All three are seen by the server before it stops.
    assert!(late.is_silent(Duration::from_millis(100)));
    server.stop();
    assert!(idle.is_closed());
    late.send(&request["POST /process HTTP/1.1\r\n".len()..]);
    let answer = late.answer();
    assert_eq!((answer.status, answer.code().as_str()), (503, "stopping"));
    assert_eq!(answer.header("retry-after"), Some("10"));
    begun.send(tail);
    assert_eq!(begun.answer().status, 200);
    server.join();
}

#[test]
fn what_does_not_finish_is_cut_off_at_the_end_of_the_drain() {
    let mut server = Server::start(|settings| settings.limits.drain = Duration::from_millis(300));
    let mut begun = server.connect();
    begun.send(&process("sleep", "text"));
    assert!(begun.is_silent(Duration::from_millis(100)));
    server.stop();
    server.join();
    assert!(begun.is_closed());
}

#[test]
fn our_own_faults_are_not_the_clients() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("child");
    std::fs::copy(env!("CARGO_BIN_EXE_gateway-child"), &program).unwrap();
    let at = program.clone();
    let server = Server::start(move |settings| settings.cage.program = at);
    assert_eq!(server.ask(&get("/health")).json()["status"], "ok");
    std::fs::remove_file(&program).unwrap();
    let answer = server.ask(&process("say x", "text"));
    assert_eq!((answer.status, answer.code().as_str()), (500, "internal"));
    assert!(!answer.text().contains("child"), "{}", answer.text());
    assert!(!answer.text().contains("os error"), "{}", answer.text());
    // Remembered for a moment.
    assert_eq!(server.ask(&get("/health")).status, 200);
    let sick = Server::start(|settings| settings.cage.program = program);
    let answer = sick.ask(&get("/health"));
    assert_eq!((answer.status, answer.code().as_str()), (503, "busy"));
    // A folder without room is no fault of the file either.
    let gone = folder.path().join("temp");
    std::fs::create_dir(&gone).unwrap();
    let at = gone.clone();
    let server = Server::start(move |settings| settings.cage.temp_dir = at);
    until_status(&server, &get("/health"), 200);
    std::fs::remove_dir(&gone).unwrap();
    let answer = server.ask(&process("say x", "text"));
    assert_eq!((answer.status, answer.code().as_str()), (503, "busy"));
}

#[test]
fn mappings_and_their_schemas() {
    let server = server();
    let list = server.ask(&get("/mappings")).json();
    let names: Vec<_> =
        list.as_array().unwrap().iter().map(|mapping| mapping["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["text", "alto", "tei", "docbook"]);
    for mapping in list.as_array().unwrap() {
        assert_eq!(mapping["media_type"], "application/xml");
        assert!(!mapping["title"].as_str().unwrap().is_empty());
        let answer = server.ask(&get(mapping["schema"].as_str().unwrap()));
        if mapping["name"] == "text" {
            assert_eq!(answer.status, 200);
            assert!(answer.text().contains("targetNamespace=\"urn:redrive:text:1\""));
        } else {
            assert_eq!(answer.status, 302);
            assert!(answer.header("location").unwrap().starts_with("https://"));
        }
    }
    assert_eq!(server.ask(&get("/mappings/word/schema")).code(), "not_found");
    assert_eq!(server.ask(&get("/nowhere")).code(), "not_found");
    assert_eq!(server.ask(&get("/process")).code(), "method_not_allowed");
}

#[test]
fn a_file_says_what_it_is() {
    let server = server();
    let answer = server.ask(&post("/inspect", "", &form(&[("file", b"%PDF-say x")])));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json()["pages"], 10);
    assert_eq!(answer.json()["version"], "1.7");
    let answer = server.ask(&post("/inspect", "", &form(&[("file", b"%PDF-memory")])));
    assert_eq!((answer.status, answer.code().as_str()), (400, "limit_exceeded"));
}

/// What this process has used at most, in kilobytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn uploads_cost_the_memory_of_a_piece() {
    let server = Server::start(|settings| settings.line = 16);
    let begin = b"--XX\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n%PDF-refuse other ";
    let end = b"\r\n--XX\r\nContent-Disposition: form-data; name=\"mapping\"\r\n\r\ntext\r\n--XX--";
    let piece = vec![b'x'; 1 << 20];
    let length = begin.len() + 45 * piece.len() + end.len();
    let head = format!(
        "POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: {length}\r\n\r\n"
    );
    let before = peak();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = server.connect();
                client.send(head.as_bytes());
                client.send(begin);
                for _ in 0..45 {
                    client.send(&piece);
                }
                client.send(end);
                assert_eq!(client.answer().code(), "invalid_pdf");
            });
        }
    });
    let grown = peak() - before;
    assert!(grown < 40_000, "eight uploads of 45 MB cost {grown} kB");
}
