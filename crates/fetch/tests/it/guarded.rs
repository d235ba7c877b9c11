//! The guard, as a job meets it. Nothing that is forbidden is dialled: the guard's word ends the job, and where a first hop has to be
//! a public address, a proxy on loopback leads there.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use redrive_engine::Code;
use redrive_fetch::{DownloadOptions, GuardOptions, PoolOptions, Pools, Resolver, Resource};
use redrive_lab::names::{NameServer, Said};
use redrive_lab::origin::{Answer, Origin};
use redrive_lab::tunnel::{Does, Tunnel};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::bench::{Bench, quick, resource};

const PUBLIC: &str = "93.184.216.34";

fn said(address: &str) -> [Said; 1] {
    [Said::Addresses(vec![address.parse().unwrap()], 60)]
}

fn asking(names: &NameServer, options: DownloadOptions) -> DownloadOptions {
    DownloadOptions { names: Some(Arc::new(Resolver::asking(&[names.address()]).unwrap())), ..options }
}

/// Pools of one proxy each.
fn pools(proxies: &[(&str, &Tunnel)]) -> Arc<Pools> {
    let pool = |(name, proxy): &(&str, &Tunnel)| {
        (name.to_string(), PoolOptions { proxies: vec![proxy.url()], fallbacks: vec![] })
    };
    Arc::new(Pools::new(&proxies.iter().map(pool).collect::<BTreeMap<_, _>>()).unwrap())
}

/// Covers R4 and R6 of the security rules.
#[tokio::test]
async fn a_job_that_leads_to_a_forbidden_address_ends_with_its_code() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let (names, proxy) = (NameServer::start().await.unwrap(), Tunnel::start().await.unwrap());
    proxy.does(Does::Lead(origin.address()));
    names.say("public.test", said(PUBLIC));
    names.say("inside.test", said("10.0.0.1"));
    names.say("cloud.test", [Said::Alias("metadata.test".into(), vec!["169.254.169.254".parse().unwrap()])]);
    let options = DownloadOptions { pools: pools(&[("eu", &proxy)]), ..asking(&names, quick()) };
    let running = bench.start_with(DownloadOptions { guard: GuardOptions::default(), ..options });
    let by_proxy = |url: &str| Resource { proxy_pool: Some("eu".into()), id: url.into(), ..resource(url) };
    for (name, direct) in [
        ("a forbidden address", resource("http://10.0.0.1/a")),
        ("one in other words", resource("http://0x7f000001/a")),
        ("a name that leads to one", resource("http://inside.test/a")),
        ("an alias of one", resource("http://cloud.test/a")),
        ("the same through a proxy", by_proxy("http://inside.test/a")),
    ] {
        let (code, attempts) = bench.fails(&direct).await;
        assert_eq!((code, attempts.len()), (Code::DownloadBlockedAddress, 1), "{name}: {attempts:#?}");
    }
    assert_eq!((origin.connections(), proxy.asked().len()), (0, 0), "nobody was called");
    for (path, to) in [
        ("/address", "http://169.254.169.254/latest/meta-data/"),
        ("/name", "http://inside.test/b"),
        ("/six", "http://[::ffff:127.0.0.1]/b"),
    ] {
        origin.say(path, [Answer::redirect(302, to)]);
        let (code, attempts) = bench.fails(&by_proxy(&format!("http://public.test{path}"))).await;
        assert_eq!((code, attempts.len()), (Code::DownloadBlockedAddress, 1), "{path}: {attempts:#?}");
        assert_eq!(origin.count(path), 1);
    }
    let asked: Vec<String> = proxy.asked().into_iter().map(|asked| asked.path).collect();
    assert!(asked.iter().all(|to| *to == format!("{PUBLIC}:80")), "{asked:?}");
    running.drain().await;
}

/// Covers R8: a connection is used again by the same host on the same way, and by nobody else.
#[tokio::test]
async fn no_connection_is_shared_between_hosts_or_ways() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let names = NameServer::start().await.unwrap();
    let (one, two) = (Tunnel::start().await.unwrap(), Tunnel::start().await.unwrap());
    for name in ["a.test", "b.test"] {
        names.say(name, [Said::Addresses(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)], 60)]);
    }
    let pools = pools(&[("one", &one), ("two", &two)]);
    let running = bench.start_with(DownloadOptions { pools, ..asking(&names, quick()) });
    let port = origin.address().port();
    let ways = [("a.test", None), ("b.test", None), ("a.test", Some("one")), ("a.test", Some("two"))];
    for (n, (name, pool)) in ways.iter().enumerate() {
        for path in 0..3 {
            let url = format!("http://{name}:{port}/{n}/{path}");
            let wanted = Resource { proxy_pool: pool.map(ToOwned::to_owned), ..resource(&url) };
            let row = bench.ended(bench.enqueue(&wanted).await).await;
            bench.stored(&row).await;
        }
        assert_eq!(origin.connections(), n + 1, "{name} by {pool:?}");
    }
    assert_eq!((one.asked().len(), two.asked().len()), (1, 1));
    running.drain().await;
}

/// Covers R10: a closed port, one that nobody answers for, and one that is open and does not say a word of TLS look the same.
#[tokio::test]
async fn from_outside_a_closed_port_looks_like_a_filtered_or_a_silent_one() {
    let bench = Bench::new().await;
    let running =
        bench.start_with(DownloadOptions { connect_timeout: Duration::from_millis(200), ..quick() });
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    // Whoever calls a listener whose queue is full hears nothing at all, as behind a filter.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let mut waiting = Vec::new();
    let call = || TcpStream::connect(full.local_addr().unwrap());
    while let Ok(called) = tokio::time::timeout(Duration::from_millis(200), call()).await {
        waiting.push(called.unwrap());
    }
    let mut told = Vec::new();
    for at in [closed, full.local_addr().unwrap(), silent.local_addr().unwrap()] {
        let (code, attempts) = bench.fails(&resource(&format!("https://{at}/a"))).await;
        let last = attempts.last().unwrap();
        let message = last.message.clone().unwrap().replace(&at.to_string(), "HOST");
        told.push((code, attempts.len(), message, last.context.clone(), last.target_status));
    }
    assert_eq!((told[0].0, told[0].2.as_str()), (Code::DownloadConnect, "GET https://HOST/a: no connection"));
    assert_eq!(told[0], told[1], "closed and filtered");
    assert_eq!(told[0], told[2], "closed and silent");
    running.drain().await;
}
