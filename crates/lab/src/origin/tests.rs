use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::*;

/// One request on a connection of its own: everything that came back, and whether it ended with an error.
async fn ask(origin: &Origin, path: &str, headers: &str) -> (String, bool) {
    let (address, text) = (origin.address(), format!("GET {path} HTTP/1.1\r\n{headers}\r\n"));
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let (mut said, mut buffer) = (Vec::new(), [0; 65_536]);
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return (String::from_utf8_lossy(&said).into_owned(), false),
                Ok(n) if said.len() < 1 << 20 => said.extend_from_slice(&buffer[..n]),
                Ok(_) | Err(_) => return (String::from_utf8_lossy(&said).into_owned(), true),
            }
        }
    });
    asked.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_right_unless_told_otherwise_and_counts() {
    let origin = Origin::start().await.unwrap();
    let all = String::from_utf8(body_of("/a")).unwrap();
    let (text, _) = ask(&origin, "/a", "").await;
    assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with(&all), "{text}");
    let etag = text.split("etag: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let (part, _) = ask(&origin, "/a", &format!("range: bytes=5-\r\nif-range: {etag}\r\n")).await;
    assert!(part.starts_with("HTTP/1.1 206 ") && part.ends_with(&all[5..]), "{part}");
    let (whole, _) = ask(&origin, "/a", "range: bytes=5-\r\nif-range: \"other\"\r\n").await;
    assert!(whole.starts_with("HTTP/1.1 200 ") && whole.ends_with(&all), "{whole}");
    assert!(ask(&origin, "/a", "range: bytes=9999-\r\n").await.0.starts_with("HTTP/1.1 416 "));
    assert_eq!((origin.count("/a"), origin.count("/b"), origin.requests()), (4, 0, 4));
    assert_eq!(origin.heard("/a")[1].request.from(), Some(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_wrong_answer_is_wrong_in_its_own_way() {
    let origin = Origin::start().await.unwrap();
    let bytes = || b"0123456789".to_vec();
    for (answer, says, broke) in [
        (Answer::retry_after(503, "1"), "retry-after: 1", true),
        (Answer::redirect(302, "/b"), "location: /b", true),
        (Answer::Cut(bytes(), 3), "\r\n\r\n012", false),
        (Answer::CutChunks(bytes(), 3), "3\r\n012\r\n", false),
        (Answer::Stall(bytes(), 3), "\r\n\r\n012", true),
        (Answer::Longer(bytes(), 7), "content-length: 17", false),
        (Answer::Shorter(bytes(), 7), "content-length: 3", false),
        (Answer::Drip(bytes(), 3, Duration::from_millis(500)), "\r\n\r\n012", true),
        (Answer::Garbage, "220 mail", false),
        (Answer::Close, "", false),
        (Answer::Silence, "", true),
        (Answer::Reset, "", true),
        (Answer::Endless, "10000\r\nxxx", true),
        (Answer::GiantHead(100_000), "x-giant: yyy", true),
    ] {
        origin.say("/a", [answer.clone()]);
        let (text, broken) = ask(&origin, "/a", "").await;
        assert!(text.contains(says), "{answer:?}: {text:.300}");
        assert_eq!(broken, broke, "{answer:?}: {text:.300}");
    }
    origin.say("/a", [Answer::WrongRange(bytes())]);
    assert!(ask(&origin, "/a", "range: bytes=5-\r\n").await.0.contains("bytes 4-9/10"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_is_said_in_turn() {
    let origin = Origin::start().await.unwrap();
    origin.once("/a", [Answer::status(500), Answer::status(502)]);
    for status in ["500", "502", "200", "200"] {
        assert!(ask(&origin, "/a", "").await.0.starts_with(&format!("HTTP/1.1 {status} ")));
    }
}
