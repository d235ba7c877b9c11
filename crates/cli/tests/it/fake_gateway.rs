//! A gateway of the test's own: it counts what it is asked, and can be told to keep everybody waiting.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// What it has seen, and when it stops answering.
#[derive(Default)]
struct Seen {
    /// One entry per conversion that was asked for: the marker in the file.
    asked: Vec<String>,
    /// How many of them were answered.
    answered: usize,
    /// After so many answers everybody waits.
    hold_after: Option<usize>,
}

/// The gateway. Its threads end with the test's process.
#[derive(Clone)]
pub(crate) struct FakeGateway {
    pub(crate) url: String,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl FakeGateway {
    /// Answers so many, then keeps everybody waiting.
    pub(crate) fn holding_after(answers: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen =
            Arc::new((Mutex::new(Seen { hold_after: Some(answers), ..Seen::default() }), Condvar::new()));
        let gateway = Self { url, seen };
        let this = gateway.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let this = this.clone();
                std::thread::spawn(move || drop(this.answer(stream)));
            }
        });
        gateway
    }

    /// Answers everybody from now on.
    pub(crate) fn release(&self) {
        self.seen.0.lock().unwrap().hold_after = None;
        self.seen.1.notify_all();
    }

    /// The markers of all files that it was asked to convert, in order, with repetitions.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.seen.0.lock().unwrap().asked.clone()
    }

    /// How many it has answered.
    pub(crate) fn answered(&self) -> usize {
        self.seen.0.lock().unwrap().answered
    }

    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first)?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (status, xml) = if first.starts_with("POST /process") {
            let text = String::from_utf8_lossy(&body);
            let marker = text.split("marker-").nth(1).map_or("none", |rest| &rest[..4]).to_owned();
            let (seen, changed) = &*self.seen;
            let mut seen = seen.lock().unwrap();
            seen.asked.push(marker.clone());
            while seen.hold_after.is_some_and(|most| seen.answered >= most) {
                seen = changed.wait(seen).unwrap();
            }
            seen.answered += 1;
            ("200 OK", format!("<doc marker=\"{marker}\"/>"))
        } else {
            ("404 Not Found", String::new())
        };
        write!(
            &stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/xml\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{xml}",
            xml.len()
        )
    }
}
