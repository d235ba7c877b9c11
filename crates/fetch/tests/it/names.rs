//! Names and certificates: who is asked, what is believed, and what is not tried twice.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use redrive_engine::{Code, Target};
use redrive_fetch::{DownloadOptions, Resolver};
use redrive_lab::names::{NameServer, Said};
use redrive_lab::origin::{Origin, body_of, certificate};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::bench::{Bench, quick, resource};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn asking(names: &NameServer) -> DownloadOptions {
    DownloadOptions { names: Some(Arc::new(Resolver::asking(&[names.address()]).unwrap())), ..quick() }
}

#[tokio::test]
async fn a_name_that_is_not_there_is_told_from_a_server_that_is_ill() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let names = NameServer::start().await.unwrap();
    // Shorter than the resolver's own patience: the look-up has its own time.
    let running =
        bench.start_with(DownloadOptions { connect_timeout: Duration::from_millis(300), ..asking(&names) });
    let port = origin.address().port();
    names.say("empty.test", [Said::Empty]);
    names.say("ill.test", [Said::Fault]);
    names.say("silent.test", [Said::Silence]);
    for (name, code, attempts) in [
        ("gone.test", Code::DownloadDnsNxdomain, 2),
        ("empty.test", Code::DownloadDnsNxdomain, 2),
        ("ill.test", Code::DownloadDns, 4),
        ("silent.test", Code::DownloadDns, 4),
    ] {
        let (found, made) = bench.fails(&resource(&format!("http://{name}:{port}/a"))).await;
        assert_eq!((found, made.len()), (code, attempts), "{name}: {made:#?}");
    }
    assert_eq!(origin.requests(), 0);
    running.drain().await;
}

#[tokio::test]
async fn a_name_is_looked_up_once_for_many_downloads() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let names = NameServer::start().await.unwrap();
    names.say("origin.test", [Said::Addresses(vec![HERE], 300)]);
    let running = bench.start_with(DownloadOptions { idle_per_host: 0, ..asking(&names) });
    for n in 0..5 {
        let row = bench.fetch(&format!("http://origin.test:{}/{n}", origin.address().port())).await;
        assert_eq!(bench.stored(&row).await.1, body_of(&format!("/{n}")));
    }
    assert_eq!((origin.connections(), names.asked("origin.test")), (5, 1));
    assert_eq!(
        origin.heard("/0")[0].request.header("host").unwrap(),
        format!("origin.test:{}", origin.address().port())
    );
    running.drain().await;
}

#[tokio::test]
async fn a_host_with_an_underscore_is_fetched_like_any_other() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let (names, secret) = (NameServer::start().await.unwrap(), Origin::start_tls().await.unwrap());
    names.say("my_files.test", [Said::Addresses(vec![HERE], 300)]);
    let running = bench.start_with(DownloadOptions { roots: vec![certificate()], ..asking(&names) });
    let port = origin.address().port();
    let row = bench.fetch(&format!("http://my_files.test:{port}/a")).await;
    assert_eq!(bench.stored(&row).await.1, body_of("/a"));
    let targets: Vec<&str> = row.targets.iter().map(Target::as_str).collect();
    assert_eq!(targets, [format!("host:my_files.test:{port}")], "it is waited for like any other");
    // The name is asked for and its certificate looked at: it is for another one.
    let url = format!("https://my_files.test:{}/a", secret.address().port());
    let (code, attempts) = bench.fails(&resource(&url)).await;
    assert_eq!((code, attempts.len()), (Code::DownloadTls, 1));
    // No certificate can be for this one, so nobody is asked.
    let (code, attempts) = bench.fails(&resource("https://files-.test/a")).await;
    assert_eq!((code, attempts.len(), names.asked("files-.test")), (Code::DownloadInvalidUrl, 1, 0));
    running.drain().await;
}

#[tokio::test]
async fn a_certificate_is_verified_against_the_name_and_nothing_is_tried_twice() {
    let (bench, origin) = (Bench::new().await, Origin::start_tls().await.unwrap());
    let (names, plain) = (NameServer::start().await.unwrap(), not_tls().await);
    for name in ["origin.test", "other.test"] {
        names.say(name, [Said::Addresses(vec![HERE], 300)]);
    }
    let port = origin.address().port();
    let running = bench.start_with(DownloadOptions { roots: vec![certificate()], ..asking(&names) });
    for host in ["origin.test", "127.0.0.1"] {
        let row = bench.fetch(&format!("https://{host}:{port}/a")).await;
        assert_eq!(bench.stored(&row).await.1, body_of("/a"), "{host}");
    }
    let asked = origin.requests();
    for url in [format!("https://other.test:{port}/a"), format!("https://origin.test:{}/a", plain.port())] {
        let (code, attempts) = bench.fails(&resource(&url)).await;
        assert_eq!((code, attempts.len()), (Code::DownloadTls, 1), "{url}");
    }
    running.drain().await;
    let running = bench.start_with(asking(&names));
    let (code, attempts) = bench.fails(&resource(&format!("https://origin.test:{port}/untrusted"))).await;
    assert_eq!((code, attempts.len()), (Code::DownloadTls, 1));
    assert_eq!(origin.requests(), asked, "not a word before there is trust");
    running.drain().await;
}

/// A server that answers TLS as one without TLS does.
async fn not_tls() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
            let _ = stream.read(&mut [0; 4096]).await;
        }
    });
    address
}
