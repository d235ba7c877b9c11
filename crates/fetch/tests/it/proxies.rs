//! Through proxies: who is asked, who is blamed, and what becomes of a pool with nobody left.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use redrive_engine::Code;
use redrive_engine::model::State;
use redrive_fetch::{DownloadOptions, PoolOptions, Pools, Resolver, Resource};
use redrive_lab::names::{NameServer, Said};
use redrive_lab::origin::{Origin, body_of, certificate};
use redrive_lab::tunnel::{Does, Tunnel};

use crate::bench::{Bench, context, quick, resource};

pub(crate) async fn tunnels<const N: usize>() -> [Tunnel; N] {
    let mut tunnels = Vec::new();
    for _ in 0..N {
        tunnels.push(Tunnel::start().await.unwrap());
    }
    tunnels.try_into().unwrap()
}

/// One pool of these, and one that stands in.
pub(crate) fn through(own: &[&Tunnel], fallback: &[&Tunnel]) -> DownloadOptions {
    let urls = |tunnels: &[&Tunnel]| tunnels.iter().map(|tunnel| tunnel.url()).collect();
    let mut pools =
        BTreeMap::from([("eu".to_owned(), PoolOptions { proxies: urls(own), fallbacks: vec![] })]);
    if !fallback.is_empty() {
        pools.insert("us".into(), PoolOptions { proxies: urls(fallback), fallbacks: vec![] });
        pools.get_mut("eu").unwrap().fallbacks.push("us".into());
    }
    DownloadOptions {
        pools: Arc::new(Pools::new(&pools).unwrap()),
        connect_timeout: Duration::from_millis(500),
        ..quick()
    }
}

pub(crate) fn by_proxy(url: &str) -> Resource {
    Resource { proxy_pool: Some("eu".into()), ..resource(url) }
}

/// Covers R7 of the security rules: the proxy gets the address that was judged, and TLS is between us and the origin.
#[tokio::test]
async fn a_proxy_is_told_an_address_and_never_a_name() {
    let (bench, plain) = (Bench::new().await, Origin::start().await.unwrap());
    let (origin, [proxy]) = (Origin::start_tls().await.unwrap(), tunnels().await);
    let names = NameServer::start().await.unwrap();
    names.say("origin.test", [Said::Addresses(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)], 300)]);
    let running = bench.start_with(DownloadOptions {
        roots: vec![certificate()],
        names: Some(Arc::new(Resolver::asking(&[names.address()]).unwrap())),
        ..through(&[&proxy], &[])
    });
    for (scheme, at) in [("https", origin.address()), ("http", plain.address())] {
        let url = format!("{scheme}://origin.test:{}/a", at.port());
        let row = bench.ended(bench.enqueue(&by_proxy(&url)).await).await;
        assert_eq!(bench.stored(&row).await.1, body_of("/a"), "{url}");
        let asked = proxy.asked().pop().unwrap();
        assert_eq!((asked.method.as_str(), asked.path.clone()), ("CONNECT", at.to_string()));
        assert_eq!(asked.header("proxy-authorization"), Some("Basic bWU6Q0FOQVJZ"));
    }
    assert!(plain.heard("/a")[0].request.header("proxy-authorization").is_none());
    running.drain().await;
}

#[tokio::test]
async fn a_proxy_that_does_not_reach_one_address_is_asked_for_the_next_within_the_attempt() {
    let (bench, origin, [proxy]) = (Bench::new().await, Origin::start().await.unwrap(), tunnels().await);
    let names = NameServer::start().await.unwrap();
    let address = |last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
    let running = bench.start_with(DownloadOptions {
        names: Some(Arc::new(Resolver::asking(&[names.address()]).unwrap())),
        ..through(&[&proxy], &[])
    });
    proxy.does(Does::Only(origin.address()));
    names.say("some.test", [Said::Addresses(vec![address(2), address(3), address(1)], 300)]);
    names.say("none.test", [Said::Addresses((2..9).map(address).collect(), 300)]);
    let port = origin.address().port();
    let row = bench.ended(bench.enqueue(&by_proxy(&format!("http://some.test:{port}/a"))).await).await;
    assert_eq!((bench.stored(&row).await.1, row.attempt), (body_of("/a"), 1));
    let asked: Vec<String> = proxy.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(asked, [2, 3, 1].map(|last| format!("127.0.0.{last}:{port}")));
    let (code, attempts) = bench.fails(&by_proxy(&format!("http://none.test:{port}/a"))).await;
    assert_eq!((code, attempts.len()), (Code::DownloadConnect, 4));
    let calls = proxy.asked().len() - 3;
    assert!(calls.is_multiple_of(4) && calls <= 32, "{calls} calls: four addresses at most for each way");
    running.drain().await;
}

#[tokio::test]
async fn a_dead_proxy_is_the_next_ones_turn_and_spends_no_download() {
    let (bench, origin, [good, dead]) = (Bench::new().await, Origin::start().await.unwrap(), tunnels().await);
    for does in [Does::Close, Does::Refuse(407), Does::Refuse(500), Does::Silence] {
        dead.does(does);
        let running = bench.start_with(through(&[&good, &dead], &[]));
        for n in 0..4 {
            let path = format!("/{does:?}/{n}").replace(['(', ')'], "");
            let row = bench.ended(bench.enqueue(&by_proxy(&origin.url(&path))).await).await;
            assert_eq!(bench.stored(&row).await.1, body_of(&path));
            for attempt in
                bench.engine.attempts(row.id).await.unwrap().iter().filter(|attempt| attempt.code.is_some())
            {
                assert_eq!(attempt.code, Some(Code::DownloadProxyFailed));
                let context = attempt.context.as_deref().unwrap();
                assert!(context.contains("\"proxy\":\"proxies/eu#2\""), "{context}");
                assert!(!format!("{attempt:?}").contains("CANARY"), "{attempt:?}");
            }
        }
        running.drain().await;
    }
    // Once found out, it is left alone: one call each.
    assert!(dead.asked().len() <= 4, "{:?}", dead.asked());
}

#[tokio::test]
async fn another_pool_stands_in_and_a_pool_with_nobody_left_is_held() {
    let (bench, origin, [one, two]) = (Bench::new().await, Origin::start().await.unwrap(), tunnels().await);
    one.does(Does::Close);
    let running = bench.start_with(through(&[&one], &[&two]));
    let row = bench.ended(bench.enqueue(&by_proxy(&origin.url("/a"))).await).await;
    assert_eq!(bench.stored(&row).await.1, body_of("/a"));
    assert_eq!((one.asked().len(), two.asked().len()), (1, 1));

    two.does(Does::Close);
    // A connection that is open already would go on working.
    let other = Origin::start().await.unwrap();
    let mut held = Vec::new();
    for n in 0..20 {
        held.push(bench.enqueue(&by_proxy(&other.url(&format!("/{n}")))).await);
    }
    let direct = bench.fetch(&other.url("/direct")).await;
    assert_eq!(direct.state, State::Complete, "who needs no proxy goes on");
    one.does(Does::Through);
    two.does(Does::Through);
    let mut spent = 0;
    for id in held {
        let row = bench.ended(id).await;
        assert_eq!(row.state, State::Complete);
        spent += row.attempt - 1;
    }
    assert!(spent <= 4, "{spent} attempts were spent on a pool that was down");
    running.drain().await;
}

#[tokio::test]
async fn a_host_that_no_proxy_reaches_is_the_hosts_fault() {
    let (bench, origin, [one, two]) = (Bench::new().await, Origin::start().await.unwrap(), tunnels().await);
    let running = bench.start_with(through(&[&one, &two], &[]));
    one.does(Does::Refuse(502));
    two.does(Does::Refuse(502));
    let (code, attempts) = bench.fails(&by_proxy(&origin.url("/a"))).await;
    assert_eq!((code, attempts.len()), (Code::DownloadConnect, 4));
    let proxies: std::collections::BTreeSet<_> =
        attempts.iter().map(|attempt| context(attempt)["proxy"].as_str().unwrap().to_owned()).collect();
    assert_eq!(proxies.len(), 2, "another one each time: {proxies:?}");
    one.does(Does::Refuse(403));
    two.does(Does::Through);
    for n in 0..3 {
        let row = bench.ended(bench.enqueue(&by_proxy(&origin.url(&format!("/forbidden/{n}")))).await).await;
        assert_eq!(row.state, State::Complete, "whoever may not is not asked first again");
    }
    one.does(Does::Through);
    let row = bench.ended(bench.enqueue(&by_proxy(&origin.url("/b"))).await).await;
    assert_eq!((row.state, row.attempt), (State::Complete, 1), "nobody was left alone for it");
    running.drain().await;
}

#[tokio::test]
async fn a_pool_that_is_not_there_is_said() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let (code, attempts) = bench.fails(&by_proxy(&origin.url("/a"))).await;
    assert_eq!((code, attempts.len(), origin.requests()), (Code::ValidationInvalidField, 1, 0));
    running.drain().await;
}
