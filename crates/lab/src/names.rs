//! A name server on loopback that says what it is told, also when that is wrong, and counts who asked.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

const A: u16 = 1;
const CNAME: u16 = 5;
const SOA: u16 = 6;
const AAAA: u16 = 28;

/// That there is nothing may be believed for so many seconds.
pub const NOTHING: u32 = 300;

/// What is said about a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It has these addresses; believed for so many seconds.
    Addresses(Vec<IpAddr>, u32),
    /// It is another name for this one, which has these addresses.
    Alias(String, Vec<IpAddr>),
    /// There is no such name; believed for [`NOTHING`] seconds.
    NoSuchName,
    /// It is there and has no address; believed as long.
    Empty,
    /// The server has a fault.
    Fault,
    /// Nothing is answered.
    Silence,
}

#[derive(Debug, Default)]
struct State {
    script: HashMap<String, Vec<Said>>,
    /// What is said about one kind of address alone.
    by_kind: HashMap<(String, u16), Said>,
    /// How often each name was asked for, by kind.
    asked: HashMap<(String, u16), usize>,
}

/// The server. Dropping it ends it.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    serving: JoinHandle<()>,
}

impl NameServer {
    /// One on a free loopback port that knows no names.
    pub async fn start() -> io::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let address = socket.local_addr()?;
        let state = Arc::new(Mutex::new(State::default()));
        let serving = tokio::spawn(serve(socket, state.clone()));
        Ok(Self { address, state, serving })
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Questions for this name get these answers in turn, and the last one for ever.
    pub fn say(&self, name: &str, answers: impl IntoIterator<Item = Said>) {
        lock(&self.state).script.insert(name.to_owned(), answers.into_iter().collect());
    }

    /// Questions for the IPv4 addresses of this name always get the one answer, those for its IPv6 addresses the other.
    pub fn say_each(&self, name: &str, four: Said, six: Said) {
        let mut state = lock(&self.state);
        state.by_kind.insert((name.to_owned(), A), four);
        state.by_kind.insert((name.to_owned(), AAAA), six);
    }

    /// How often this name was asked for (its IPv4 addresses).
    #[must_use]
    pub fn asked(&self, name: &str) -> usize {
        lock(&self.state).asked.get(&(name.to_owned(), A)).copied().unwrap_or(0)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(socket: UdpSocket, state: Arc<Mutex<State>>) {
    let mut buffer = vec![0; 4096];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        let Some(question) = Question::read(buffer.get(..length).unwrap_or_default()) else { continue };
        let said = lock(&state).next(&question);
        if let Some(answer) = question.answer(&said) {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

impl State {
    /// Both kinds of addresses are asked for side by side: each has its own turn.
    fn next(&mut self, question: &Question) -> Said {
        let asked = self.asked.entry((question.name.clone(), question.kind)).or_insert(0);
        let turn = *asked;
        *asked += 1;
        if let Some(said) = self.by_kind.get(&(question.name.clone(), question.kind)) {
            return said.clone();
        }
        let said = self.script.get(&question.name);
        said.and_then(|said| said.get(turn).or(said.last())).cloned().unwrap_or(Said::NoSuchName)
    }
}

struct Question {
    id: [u8; 2],
    name: String,
    kind: u16,
    /// The question as it came, to be said back.
    raw: Vec<u8>,
}

impl Question {
    fn read(message: &[u8]) -> Option<Self> {
        let id = [*message.first()?, *message.get(1)?];
        let (mut at, mut labels) = (12, Vec::new());
        loop {
            let length = usize::from(*message.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_lowercase());
            at += length;
        }
        let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
        Some(Self { id, name: labels.join("."), kind, raw: message.get(12..at + 4)?.to_vec() })
    }

    fn answer(&self, said: &Said) -> Option<Vec<u8>> {
        let (code, records) = match said {
            Said::Silence => return None,
            Said::NoSuchName => (3, Vec::new()),
            Said::Fault => (2, Vec::new()),
            Said::Empty => (0, Vec::new()),
            Said::Addresses(addresses, ttl) => (0, self.records(&[0xc0, 12], addresses, *ttl)),
            Said::Alias(to, addresses) => {
                let name = wire_name(to);
                let mut records = vec![record(&[0xc0, 12], CNAME, 0, &name)];
                records.extend(self.records(&name, addresses, 0));
                (0, records)
            }
        };
        let count = u16::try_from(records.len()).ok()?.to_be_bytes();
        let zone = match said {
            Said::NoSuchName | Said::Empty => vec![zone()],
            Said::Addresses(..) | Said::Alias(..) | Said::Fault | Said::Silence => Vec::new(),
        };
        let authorities = u8::try_from(zone.len()).ok()?;
        let mut message =
            vec![self.id[0], self.id[1], 0x81, 0x80 | code, 0, 1, count[0], count[1], 0, authorities, 0, 0];
        message.extend_from_slice(&self.raw);
        message.extend(records.concat());
        message.extend(zone.concat());
        Some(message)
    }

    fn records(&self, owner: &[u8], addresses: &[IpAddr], ttl: u32) -> Vec<Vec<u8>> {
        let mine = |address: &IpAddr| match (address, self.kind) {
            (IpAddr::V4(address), A) => Some(record(owner, A, ttl, &address.octets())),
            (IpAddr::V6(address), AAAA) => Some(record(owner, AAAA, ttl, &address.octets())),
            (IpAddr::V4(_) | IpAddr::V6(_), _) => None,
        };
        addresses.iter().filter_map(mine).collect()
    }
}

/// Who answers for the zone, and how long that there is nothing may be believed.
fn zone() -> Vec<u8> {
    let mut data = vec![0, 0];
    data.extend([1, 3_600, 600, 86_400, NOTHING].map(u32::to_be_bytes).concat());
    record(&[0xc0, 12], SOA, NOTHING, &data)
}

fn record(owner: &[u8], kind: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
    let mut record = owner.to_vec();
    record.extend(kind.to_be_bytes());
    record.extend([0, 1]);
    record.extend(ttl.to_be_bytes());
    record.extend(u16::try_from(data.len()).unwrap_or(0).to_be_bytes());
    record.extend(data);
    record
}

fn wire_name(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.') {
        wire.push(u8::try_from(label.len()).unwrap_or(0));
        wire.extend(label.as_bytes());
    }
    wire.push(0);
    wire
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
