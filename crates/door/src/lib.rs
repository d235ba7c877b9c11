//! The door: takes connections for a router, with limits that the stock server does not have.
//!
//! Nobody may hold a connection without using it: a head, an idle connection, a body and an answer each have their time, and
//! all of them a number. It knows nothing of what it serves, so that any server of ours can stand behind it.
//!
//! A request's body that comes too slowly ends with [`TooSlow`] somewhere in its chain of causes: [`TooSlow::is_cause_of`].

mod body;
mod connection;
pub mod multipart;
mod pipe;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

pub use body::TooSlow;

/// What a client may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the first byte of a request to the end of its head.
    pub head_time: Duration,
    /// The size of a head.
    pub head_bytes: usize,
    /// A connection on which nothing happens.
    pub idle: Duration,
    /// All connections. Further ones wait in the kernel's queue.
    pub connections: usize,
    /// Connections from one address, or from one IPv6 network of 64 bits. Further ones are closed at once. Relays are exempt.
    pub per_address: usize,
    /// How long a body may make us wait in all before its rate counts.
    pub body_grace: Duration,
    /// Bytes that a body must bring for every second of waiting beyond that.
    pub body_rate: u64,
    /// How long a body may make us wait in all, however well it keeps its rate.
    pub body_time: Duration,
    /// How long an answer may wait for a client that does not read.
    pub write_stall: Duration,
    /// How long we go on reading a body that was refused, so that the client sees the refusal and not a reset; a fifth of it
    /// when nothing comes.
    pub linger: Duration,
    /// How long requests may take to finish after the signal to stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_time: Duration::from_secs(10),
            head_bytes: 32 * 1024,
            idle: Duration::from_secs(30),
            connections: 1024,
            per_address: 256,
            body_grace: Duration::from_secs(10),
            body_rate: 1024,
            body_time: Duration::from_secs(15 * 60),
            write_stall: Duration::from_secs(30),
            linger: Duration::from_secs(5),
            drain: Duration::from_secs(25),
        }
    }
}

/// Serves the router until `shutdown` is done, then lets what has begun finish within the drain time.
///
/// Requests carry the peer's address as [`axum::extract::ConnectInfo`].
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    serve_behind(listener, router, limits, |_| false, shutdown).await;
}

/// The same behind relays: a connection that comes from one is any of their clients', so it counts among all, and for no address.
pub async fn serve_behind(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    is_relay: impl Fn(IpAddr) -> bool,
    shutdown: impl Future<Output = ()>,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let addresses = Addresses::default();
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        let (stream, peer, slot) = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &slots) => accepted,
        };
        // What has ended is forgotten as we go.
        while connections.try_join_next().is_some() {}
        let place = match is_relay(peer.ip().to_canonical()) {
            true => None,
            false => match addresses.enter(peer.ip(), limits.per_address) {
                Some(place) => Some(place),
                None => continue,
            },
        };
        let (router, stopping) = (router.clone(), stopping.clone());
        connections.spawn(async move {
            let _held = (slot, place);
            connection::run(stream, peer, router, limits, stopping).await;
        });
    }
    drop(listener);
    let _ = stop.send(true);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain, finished).await.is_err() {
        tracing::warn!(event = "door.cut_off", "requests that did not finish in time are cut off");
    }
    connections.shutdown().await;
}

/// The next connection and its place among all.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
    let slot = loop {
        // The semaphore is never closed.
        if let Ok(slot) = Arc::clone(slots).acquire_owned().await {
            break slot;
        }
    };
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, slot),
            Err(error) => {
                // A connection that was gone before we took it costs nothing. Anything else (no more handles) needs time.
                if !matches!(
                    error.kind(),
                    std::io::ErrorKind::ConnectionAborted
                        | std::io::ErrorKind::ConnectionReset
                        | std::io::ErrorKind::ConnectionRefused
                ) {
                    tracing::warn!(event = "door.cannot_accept", %error, "cannot accept connections");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
        }
    }
}

/// How many connections each address has.
#[derive(Debug, Clone, Default)]
struct Addresses(Arc<Mutex<HashMap<IpAddr, usize>>>);

impl Addresses {
    fn enter(&self, address: IpAddr, limit: usize) -> Option<Place> {
        let address = network(address);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some(Place { addresses: self.clone(), address })
    }
}

/// Who has an IPv6 network has all of its addresses, so the network counts.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// A connection's place; leaving gives it back.
struct Place {
    addresses: Addresses,
    address: IpAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.addresses.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_places_and_gets_them_back() {
        let addresses = Addresses::default();
        let [a, b] = ["127.0.0.1", "127.0.0.2"].map(|text| text.parse::<IpAddr>().unwrap());
        let first = addresses.enter(a, 2).unwrap();
        let _second = addresses.enter(a, 2).unwrap();
        assert!(addresses.enter(a, 2).is_none());
        assert!(
            addresses.enter("::ffff:127.0.0.1".parse().unwrap(), 2).is_none(),
            "the same address in disguise"
        );
        assert!(addresses.enter(b, 2).is_some());
        drop(first);
        assert!(addresses.enter(a, 2).is_some());
        drop(_second);
        assert!(addresses.0.lock().unwrap().is_empty());
    }

    #[test]
    fn one_who_has_a_network_has_no_more_places_by_its_addresses() {
        let addresses = Addresses::default();
        let enter = |text: &str| addresses.enter(text.parse().unwrap(), 2);
        let _held = [enter("2001:db8:1:2::1").unwrap(), enter("2001:db8:1:2:ffff::9").unwrap()];
        assert!(enter("2001:db8:1:2:3:4:5:6").is_none());
        assert!(enter("2001:db8:1:3::1").is_some(), "the next network is somebody else");
    }
}
