use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

/// One call on a connection of its own: everything that came back, and whether it ended with an error.
fn call(address: SocketAddr, file: &str) -> (String, bool) {
    let body = format!(
        "--x\r\ncontent-disposition: form-data; name=\"mapping\"\r\n\r\ntext\r\n--x\r\n\
         content-disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n{file}\r\n--x--\r\n"
    );
    let Ok(mut stream) = TcpStream::connect(address) else { return ("refused".to_owned(), true) };
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    write!(
        stream,
        "POST /process HTTP/1.1\r\nidempotency-key: k\r\ncontent-type: multipart/form-data; boundary=x\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return (String::from_utf8_lossy(&said).into_owned(), false),
            Ok(n) => said.extend_from_slice(&buffer[..n]),
            Err(_) => return (String::from_utf8_lossy(&said).into_owned(), true),
        }
    }
}

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

async fn said(gateway: &Gateway, file: &'static str) -> (String, bool) {
    let address = gateway.address;
    tokio::task::spawn_blocking(move || call(address, file)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_right_unless_told_otherwise_and_knows_who_called() {
    let gateway = Gateway::start().await.unwrap();
    let (text, _) = said(&gateway, "abc").await;
    assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with(&right_answer(ABC, "text")), "{text}");
    let call = gateway.calls_of(ABC).remove(0);
    assert_eq!((call.mapping.as_str(), call.key.as_deref()), ("text", Some("k")));
    assert_eq!((call.filename.as_deref(), gateway.most_at_once()), (Some("a.pdf"), 1));
    assert!(gateway.calls_of("other").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_answers_in_turn_and_the_narrowest_that_was_said_last_wins() {
    let gateway = Gateway::start().await.unwrap();
    gateway.say(Which::Any, [Answer::status(502), Answer::retry_after(503, "7")]);
    gateway.say(Which::File(ABC.to_owned()), [Answer::problem(400, "invalid_pdf")]);
    assert!(said(&gateway, "abc").await.0.contains("\"code\":\"invalid_pdf\""));
    assert!(said(&gateway, "x").await.0.starts_with("HTTP/1.1 502 "));
    for _ in 0..2 {
        assert!(said(&gateway, "x").await.0.contains("retry-after: 7\r\n"));
    }
    gateway.behave();
    assert!(said(&gateway, "abc").await.0.starts_with("HTTP/1.1 200 "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_wrong_answer_is_wrong_in_its_own_way() {
    let gateway = Gateway::start().await.unwrap();
    let all = right_answer(ABC, "text");
    for (answer, has_head, ends) in [
        (Answer::Silence, false, false),
        (Answer::Stall(10), true, false),
        (Answer::Cut, true, true),
        (Answer::CutChunks, true, true),
        (Answer::Reset, false, false),
        (Answer::ResetAfterHead, true, false),
        (Answer::Drip(Duration::from_millis(900)), true, false),
        (Answer::Slow(Duration::from_secs(5)), false, false),
    ] {
        gateway.say(Which::Any, [answer.clone()]);
        let (text, broke) = said(&gateway, "abc").await;
        assert_eq!(text.starts_with("HTTP/1.1 200 "), has_head, "{answer:?}: {text}");
        assert_eq!(broke, !ends, "{answer:?}: {text}");
        assert!(!text.ends_with(&all), "{answer:?}");
    }
    gateway.say(Which::Any, [Answer::Flood(1 << 20)]);
    assert!(said(&gateway, "abc").await.0.len() > 1 << 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_goes_down_and_comes_back_on_the_same_port() {
    let gateway = Gateway::start().await.unwrap();
    gateway.down();
    while said(&gateway, "abc").await.0 != "refused" {
        tokio::task::yield_now().await;
    }
    gateway.up().await.unwrap();
    assert!(said(&gateway, "abc").await.0.starts_with("HTTP/1.1 200 "));
}
