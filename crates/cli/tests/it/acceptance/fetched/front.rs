//! A front before the S3 server of the tests that misbehaves for some objects: it refuses, breaks off, loses answers, or holds a call.
//!
//! One request a connection. What has no fault passes unchanged; the server behind does not mind who signed it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What becomes of one call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// A status and a code of S3, without a look at the body.
    Refuse(u16, &'static str),
    /// A reset before the body is read.
    Reset,
    /// A reset when so many percent of the body have come; nothing of it is passed on.
    Cut(usize),
    /// It is done, and the answer is lost.
    LoseReply,
    /// It is never done and never answered.
    Hold,
}

/// Calls that were heard: a short name and the last segment of the object's name.
type Heard = (String, String);

#[derive(Default)]
struct State {
    faults: Mutex<HashMap<Heard, VecDeque<Fault>>>,
    heard: Mutex<Vec<Heard>>,
}

/// The front. Dropping it ends it.
pub(super) struct Front {
    pub(super) url: String,
    state: Arc<State>,
    listening: JoinHandle<()>,
}

impl Front {
    /// Before this server, on a free port.
    pub(super) async fn before(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (state, server) =
            (Arc::new(State::default()), server.strip_prefix("http://").unwrap().to_owned());
        let shared = state.clone();
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (state, server) = (shared.clone(), server.clone());
                tokio::spawn(async move { pass(client, &server, &state).await });
            }
        });
        Self { url, state, listening }
    }

    /// The next calls of this kind (`PUT`, `COMPLETE`, …) for an object whose name ends like this are treated so.
    pub(super) fn on(&self, call: &str, object: &str, faults: impl IntoIterator<Item = Fault>) {
        let faults = faults.into_iter().collect();
        self.state.faults.lock().unwrap().insert((call.to_owned(), object.to_owned()), faults);
    }

    /// How often this was called for such an object.
    pub(super) fn count(&self, call: &str, object: &str) -> usize {
        let heard = self.state.heard.lock().unwrap();
        heard.iter().filter(|(kind, name)| kind == call && name == object).count()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn pass(mut client: TcpStream, server: &str, state: &State) -> std::io::Result<()> {
    let Some((head, mut body)) = head(&mut client).await? else { return Ok(()) };
    let call = call_of(&head);
    state.heard.lock().unwrap().push(call.clone());
    let fault = state.faults.lock().unwrap().get_mut(&call).and_then(VecDeque::pop_front);
    let length = field(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    match fault {
        Some(Fault::Refuse(status, code)) => {
            read_to(&mut client, &mut body, length).await?;
            let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
            let answer = format!(
                "HTTP/1.1 {status} No\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                text.len()
            );
            return client.write_all(answer.as_bytes()).await;
        }
        Some(Fault::Reset) => return client.set_zero_linger(),
        Some(Fault::Cut(percent)) => {
            read_to(&mut client, &mut body, length * percent / 100).await?;
            return client.set_zero_linger();
        }
        Some(Fault::Hold) => {
            let _ = client.read_to_end(&mut body).await;
            return Ok(());
        }
        Some(Fault::LoseReply) | None => {}
    }
    read_to(&mut client, &mut body, length).await?;
    let mut behind = TcpStream::connect(server).await?;
    let (first, fields) = head.split_once("\r\n").unwrap_or((&head, ""));
    behind.write_all(format!("{first}\r\nconnection: close\r\n{fields}").as_bytes()).await?;
    behind.write_all(&body).await?;
    let mut answer = Vec::new();
    behind.read_to_end(&mut answer).await?;
    match fault {
        Some(_) => client.set_zero_linger(),
        None => client.write_all(&answer).await,
    }
}

/// The head of a request, and what came with it.
async fn head(client: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let (mut read, mut piece) = (Vec::new(), vec![0; 16 << 10]);
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let body = read.split_off(end + 4);
            return Ok(Some((String::from_utf8_lossy(&read).into_owned(), body)));
        }
        match client.read(&mut piece).await? {
            0 => return Ok(None),
            n => read.extend_from_slice(&piece[..n]),
        }
    }
}

async fn read_to(client: &mut TcpStream, body: &mut Vec<u8>, length: usize) -> std::io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    while body.len() < length {
        match client.read(&mut piece).await? {
            0 => break,
            n => body.extend_from_slice(&piece[..n]),
        }
    }
    Ok(())
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// What is called for which object. Objects are named `<hash>-<last segment of the URL>`.
fn call_of(head: &str) -> Heard {
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let has = |name: &str| query.split('&').any(|pair| pair.split('=').next() == Some(name));
    let call = match method {
        "PUT" if has("partNumber") => "PART",
        "POST" if has("uploads") => "CREATE",
        "POST" if has("uploadId") => "COMPLETE",
        "DELETE" if has("uploadId") => "ABORT",
        method => method,
    };
    let name = path.rsplit_once('-').map_or(path, |(_, name)| name);
    (call.to_owned(), name.to_owned())
}
