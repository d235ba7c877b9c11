//! The door: nobody holds a connection without using it.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::StatusCode;
use axum::routing::{get as on_get, post as on_post};
use redrive_door::{Limits, TooSlow};

use crate::client::{Server, get, post};

fn server(limits: Limits) -> Server {
    Server::with(router(), limits)
}

fn router() -> Router {
    let large = async || Body::from(vec![b'x'; 64 << 20]);
    let who = async |ConnectInfo(peer): ConnectInfo<std::net::SocketAddr>| peer.ip().to_string();
    let swallow = async |body: Body| match axum::body::to_bytes(body, 64 << 20).await {
        Ok(bytes) => (StatusCode::OK, bytes.len().to_string()),
        Err(error) => (StatusCode::REQUEST_TIMEOUT, TooSlow::is_cause_of(&error).to_string()),
    };
    let refuse = async || StatusCode::FORBIDDEN;
    Router::new()
        .route("/", on_get("hello"))
        .route("/large", on_get(large))
        .route("/who", on_get(who))
        .route("/swallow", on_post(swallow))
        .route("/refuse", on_post(refuse))
}

const SHORT: Duration = Duration::from_millis(400);

/// Also covers: M46.
#[test]
fn a_head_that_does_not_come_is_not_waited_for() {
    let server = server(Limits { head_time: SHORT, ..Limits::default() });
    assert!(server.connect().is_closed(), "nothing at all");
    let mut client = server.connect();
    client.send(b"GET / HTTP/1.1\r\nHost");
    assert!(client.is_closed(), "half a head");
    // One byte after the other, never for long without one.
    let mut client = server.connect();
    let mut writer = client.stream.try_clone().unwrap();
    let dripping = std::thread::spawn(move || {
        while std::io::Write::write_all(&mut writer, b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    assert!(client.is_closed(), "drop by drop");
    drop(client);
    dripping.join().unwrap();
}

#[test]
fn an_idle_connection_has_more_time_than_a_head_but_not_for_ever() {
    let server = server(Limits { head_time: SHORT, idle: SHORT * 4, ..Limits::default() });
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&get("/"));
        assert_eq!(client.answer().text(), "hello");
        assert!(client.is_silent(SHORT * 2), "closed after the time of a head");
    }
    assert!(client.is_closed());
    // A second head has its own clock.
    let mut client = server.connect();
    client.send(&get("/"));
    assert_eq!(client.answer().status, 200);
    client.send(b"GET / HT");
    assert!(client.is_closed());
}

#[test]
fn a_head_has_a_size() {
    let server = server(Limits::default());
    let header = |bytes: usize| format!("GET / HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "y".repeat(bytes));
    assert_eq!(server.ask(header(30_000).as_bytes()).status, 200);
    assert_eq!(server.ask(header(40_000).as_bytes()).status, 431);
}

#[test]
fn connections_have_a_number_and_wait_for_their_turn() {
    let server = server(Limits { connections: 1, ..Limits::default() });
    let mut first = server.connect();
    first.send(&get("/"));
    assert_eq!(first.answer().status, 200);
    let mut second = server.connect();
    second.send(&get("/"));
    assert!(second.is_silent(SHORT));
    drop(first);
    assert_eq!(second.answer().status, 200);
}

#[test]
fn an_address_has_a_number_of_its_own() {
    let head_time = Duration::from_secs(3600);
    let server = server(Limits { per_address: 1, head_time, ..Limits::default() });
    let mut first = server.connect();
    first.send(&get("/who"));
    assert_eq!(first.answer().text(), "127.0.0.1");
    assert!(server.connect().is_closed());
    first.send(&get("/"));
    assert_eq!(first.answer().status, 200);
}

#[test]
fn a_relay_has_as_many_connections_as_there_are() {
    let limits = Limits { connections: 3, per_address: 1, ..Limits::default() };
    let server = Server::behind_relays(router(), limits);
    let mut held: Vec<_> = (0..3).map(|_| server.connect()).collect();
    for client in &mut held {
        client.send(&get("/"));
        assert_eq!(client.answer().status, 200);
    }
    let mut fourth = server.connect();
    fourth.send(&get("/"));
    assert!(fourth.is_silent(SHORT), "all together still have a number");
    held.pop();
    assert_eq!(fourth.answer().status, 200);
}

/// Also covers: M46.
#[test]
fn an_answer_that_nobody_reads_is_given_up() {
    let idle = Duration::from_secs(3600);
    let server = server(Limits { connections: 1, write_stall: SHORT, idle, ..Limits::default() });
    let mut greedy = server.connect();
    greedy.send(&get("/large"));
    // The only place is free again although the first client is still there.
    let mut second = server.connect();
    second.send(&get("/"));
    assert_eq!(second.answer().status, 200);
    drop(greedy);
}

#[test]
fn a_client_that_reads_slowly_is_not_idle() {
    let server = server(Limits { idle: SHORT, ..Limits::default() });
    let mut client = server.connect();
    client.send(&get("/large"));
    // The whole answer is with the server's buffers; the client takes its time before it takes the rest.
    let mut piece = vec![0; 1 << 20];
    std::io::Read::read_exact(&mut client.stream, &mut piece).unwrap();
    std::thread::sleep(SHORT * 3);
    let mut rest = 0;
    while rest < 63 << 20 {
        let count = std::io::Read::read(&mut client.stream, &mut piece).unwrap();
        assert!(count > 0, "cut off with {rest} bytes of the rest");
        rest += count;
    }
    assert!(client.is_closed(), "now it is idle");
}

#[test]
fn a_stop_without_requests_is_quick() {
    let mut server = server(Limits::default());
    let mut idle = server.connect();
    idle.send(&get("/"));
    assert_eq!(idle.answer().status, 200);
    let start = std::time::Instant::now();
    server.stop();
    server.join();
    assert!(idle.is_closed());
    assert!(start.elapsed() < Duration::from_secs(4), "it waited for an idle client: {:?}", start.elapsed());
}

/// Also covers: M46.
#[test]
fn a_body_that_drips_is_given_up_and_one_that_keeps_its_pace_is_not() {
    let limits = Limits { body_grace: SHORT, body_rate: 1 << 20, ..Limits::default() };
    let server = server(limits);
    let mut client = server.connect();
    client.send(&post("/swallow", 1 << 20));
    client.send(b"only a little");
    let answer = client.answer();
    assert_eq!((answer.status, answer.text()), (408, "true"));
    let mut client = server.connect();
    client.send(&post("/swallow", 1 << 20));
    client.send(&vec![b'x'; 1 << 20]);
    let answer = client.answer();
    assert_eq!((answer.status, answer.text()), (200, "1048576"));
}

#[test]
fn a_refusal_is_read_although_the_client_is_still_sending() {
    let server = server(Limits::default());
    let mut client = server.connect();
    client.send(&post("/refuse", 32 << 20));
    let mut writer = client.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        let piece = vec![b'x'; 1 << 20];
        (0..32).take_while(|_| std::io::Write::write_all(&mut writer, &piece).is_ok()).count()
    });
    assert_eq!(client.answer().status, 403);
    sending.join().unwrap();
}

/// Only HTTP/1 is spoken: streams, resets and continuations of HTTP/2 cost nothing, because there are none.
#[test]
fn nobody_is_answered_in_http_2() {
    let server = server(Limits::default());
    let mut client = server.connect();
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    let mut said = Vec::new();
    let _ = std::io::Read::read_to_end(&mut client.stream, &mut said);
    assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{said:?}");
    let upgrade = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n";
    assert_eq!(server.ask(upgrade).status, 200, "it stays where it is");
}
