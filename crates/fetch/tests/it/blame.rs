//! Who is at fault behind a proxy: the names, the proxy, the origin, or the two together; and what is held for it.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::Code;
use redrive_engine::model::{Shown, State};
use redrive_fetch::{
    Candidate, DownloadOptions, Hook, HookError, Pools, ProxyState, Resolver, Resource, ResourceView, Verdict,
};
use redrive_lab::names::{NameServer, Said};
use redrive_lab::origin::{Origin, certificate};
use redrive_lab::tunnel::Does;

use crate::bench::{Bench, context, host, until, until_so};
use crate::proxies::{by_proxy, through, tunnels};

/// Proxies that are left alone now.
fn alone(pools: &Pools) -> Vec<String> {
    let states = pools.states("eu").into_iter();
    states.filter(|(_, state)| *state != ProxyState::Working).map(|(name, _)| name.to_owned()).collect()
}

#[tokio::test]
async fn neither_slow_names_nor_a_host_that_says_nothing_are_the_proxys_fault() {
    let (bench, origin, [proxy]) = (Bench::new().await, Origin::start().await.unwrap(), tunnels().await);
    let names = NameServer::start().await.unwrap();
    names.say("silent.test", [Said::Silence]);
    let options = DownloadOptions {
        names: Some(Arc::new(Resolver::asking(&[names.address()]).unwrap())),
        connect_timeout: Duration::from_millis(200),
        ..through(&[&proxy], &[])
    };
    let pools = options.pools.clone();
    let running = bench.start_with(options);
    let (code, attempts) = bench.fails(&by_proxy("http://silent.test/a")).await;
    assert_eq!((code, attempts.len(), proxy.asked().len()), (Code::DownloadDns, 4, 0), "{attempts:#?}");
    // It takes the call, and never begins its part of the handshake.
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/a", mute.local_addr().unwrap());
    let (code, attempts) = bench.fails(&by_proxy(&url)).await;
    assert_eq!((code, attempts.len()), (Code::DownloadConnect, 4), "{attempts:#?}");
    assert_eq!(context(&attempts[0])["proxy"], "proxies/eu#1");
    assert_eq!(alone(&pools), [""; 0]);
    let row = bench.ended(bench.enqueue(&by_proxy(&origin.url("/b"))).await).await;
    assert_eq!((row.state, row.attempt), (State::Complete, 1), "others go on through it");
    running.drain().await;
}

#[tokio::test]
async fn a_proxy_that_says_yes_and_brings_nothing_is_asked_last() {
    for does in [Does::Swallow, Does::Hang, Does::Silence] {
        let (bench, [good, bad]) = (Bench::new().await, tunnels().await);
        bad.does(does);
        let running = bench.start_with(DownloadOptions { idle_per_host: 0, ..through(&[&good, &bad], &[]) });
        let hosts = [(); 3].map(|()| Origin::start());
        for (n, origin) in futures::future::try_join_all(hosts).await.unwrap().iter().enumerate() {
            let before = bad.asked().len();
            for path in 0..8 {
                let url = origin.url(&format!("/{path}"));
                let row = bench.ended(bench.enqueue(&by_proxy(&url)).await).await;
                assert_eq!(row.state, State::Complete, "{does:?}");
                assert!(row.attempt <= 2, "{does:?}: another one is asked the next time");
            }
            // Jobs begin at either of them by chance; whoever hangs is asked twice, which is one attempt.
            let asked = bad.asked().len() - before;
            assert!(asked <= 2, "{does:?}: asked {asked} times about host {n}");
        }
        running.drain().await;
    }
}

#[tokio::test]
async fn a_proxy_that_brings_nothing_of_three_hosts_is_left_alone() {
    for does in [Does::Swallow, Does::Hang] {
        let (bench, [bad]) = (Bench::new().await, tunnels().await);
        bad.does(does);
        let options = through(&[&bad], &[]);
        let pools = options.pools.clone();
        let running = bench.start_with(options);
        let origin = Origin::start().await.unwrap();
        let at = origin.address().port();
        let [one, two, three] = [1, 2, 3].map(|n| by_proxy(&format!("http://127.0.0.{n}:{at}/a")));
        for wanted in [&one, &two] {
            let (_, attempts) = bench.fails(wanted).await;
            assert_eq!(attempts.len(), 4, "{does:?}: {attempts:#?}");
        }
        assert_eq!(alone(&pools), [""; 0], "{does:?}");
        bench.enqueue(&three).await;
        until(|| alone(&pools) == ["eu#1"]).await;
        running.drain().await;
    }
}

#[tokio::test]
async fn what_one_proxy_does_holds_neither_the_host_nor_the_pool() {
    let bench = Bench::with_breakers(Duration::from_secs(60)).await;
    let (origin, [good, bad]) = (Origin::start().await.unwrap(), tunnels().await);
    for does in [Does::Refuse(502), Does::Refuse(403), Does::Close, Does::Hang, Does::Silence] {
        bad.does(does);
        let running = bench.start_with(through(&[&bad], &[&good]));
        let path = |n: usize| format!("/{does:?}/{n}").replace(['(', ')'], "");
        let mut ids = Vec::new();
        for n in 0..6 {
            ids.push(bench.enqueue(&by_proxy(&origin.url(&path(n)))).await);
        }
        for id in ids {
            bench.ended(id).await;
        }
        let direct = bench.fetch(&origin.url(&format!("/direct{}", path(0)))).await;
        assert_eq!((direct.state, direct.attempt), (State::Complete, 1), "{does:?}");
        for target in [host(origin.address()), "proxies:eu".to_owned()] {
            assert_eq!(bench.breaker(&target).await, "closed", "{does:?}: {target}");
        }
        running.drain().await;
    }
}

/// Says no to everything, once the bytes are there.
#[derive(Debug)]
struct No;

#[async_trait::async_trait]
impl Hook for No {
    async fn after(&self, _: &ResourceView<'_>, _: &Candidate<'_>) -> Result<Verdict, HookError> {
        Ok(Verdict::refuse("no"))
    }
}

#[tokio::test]
async fn whatever_fails_after_a_download_tells_through_whom_it_came() {
    let (bench, origin, [proxy]) = (Bench::new().await, Origin::start().await.unwrap(), tunnels().await);
    bench.engine.register(bench.workload(through(&[&proxy], &[])).with_hook(Arc::new(No)));
    let running = bench.engine.start();
    let (code, attempts) = bench.fails(&by_proxy(&origin.url("/a"))).await;
    assert_eq!(code, Code::HandlerRefused);
    let told = serde_json::json!({"attempt": 1, "handler": "after", "proxy": "proxies/eu#1", "status": 200});
    assert_eq!(context(&attempts[0]), told);
    running.drain().await;

    let running = bench.start_with(through(&[&proxy], &[]));
    // Other bytes have its name already, in a prefix that others use too.
    let shared = Resource { shared: true, ..by_proxy(&origin.url("/b")) };
    let file = bench.home.path().join("fetched").join(shared.key().unwrap().as_str());
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, "other").unwrap();
    let (code, attempts) = bench.fails(&shared).await;
    assert_eq!(code, Code::UploadConflict);
    let told = serde_json::json!({"attempt": 1, "proxy": "proxies/eu#1", "status": 200});
    assert_eq!(context(&attempts[0]), told);
    running.drain().await;
}

#[tokio::test]
async fn when_nobody_of_a_pool_and_its_fallbacks_is_left_the_pool_waits_and_no_attempt_is_lost() {
    let bench = Bench::with_breakers(Duration::from_secs(60)).await;
    let (origin, [own, fallback]) = (Origin::start().await.unwrap(), tunnels().await);
    own.does(Does::Refuse(407));
    let options = DownloadOptions { idle_per_host: 0, ..through(&[&own], &[&fallback]) };
    let pools = options.pools.clone();
    let running = bench.start_with(options);
    let row = bench.ended(bench.enqueue(&by_proxy(&origin.url("/a"))).await).await;
    assert_eq!((row.state, row.attempt), (State::Complete, 2), "its own first, then the one that stands in");
    assert_eq!((own.asked().len(), fallback.asked().len()), (1, 1));

    fallback.does(Does::Refuse(407));
    let first = bench.enqueue(&by_proxy(&origin.url("/b"))).await;
    until(|| alone(&pools) == ["eu#1", "us#1"]).await;
    let pool = redrive_engine::Target::new("proxies:eu").unwrap();
    until_so(async || {
        let row = bench.store.breaker(&pool).await.unwrap();
        row.is_some_and(|row| row.breaker.throttled_until.is_some())
    })
    .await;
    let second = bench.enqueue(&by_proxy(&origin.url("/c"))).await;
    bench.fetch_all([origin.url("/direct")]).await;
    let waiting = bench.store.job(second).await.unwrap().unwrap();
    assert_eq!((waiting.shown, waiting.attempt), (Shown::Held, 0), "it is not even begun");
    own.does(Does::Through);
    for id in [first, second] {
        let row = bench.ended(id).await;
        assert_eq!(row.state, State::Complete);
        let attempts = bench.engine.attempts(id).await.unwrap();
        let of = |code| attempts.iter().filter(|attempt| attempt.code == Some(code)).count();
        let failed = of(Code::DownloadProxyFailed);
        assert_eq!(usize::try_from(row.attempt).unwrap(), failed + 1, "{attempts:#?}");
        if id == first {
            assert!(failed >= 1 && of(Code::DownloadProxyExhausted) >= 1, "{attempts:#?}");
        }
    }
    running.drain().await;
}

#[tokio::test]
async fn a_proxy_that_shows_a_certificate_of_its_own_is_the_next_ones_turn() {
    let (bench, [good, bad]) = (Bench::with_breakers(Duration::from_secs(60)).await, tunnels().await);
    let (origin, impostor) = (Origin::start_tls().await.unwrap(), Origin::start_impostor().await.unwrap());
    bad.does(Does::Lead(impostor.address()));
    let options =
        DownloadOptions { roots: vec![certificate()], idle_per_host: 0, ..through(&[&good, &bad], &[]) };
    let pools = options.pools.clone();
    let running = bench.start_with(options);
    let mut doubted = 0;
    for n in 0..16 {
        let row = bench.ended(bench.enqueue(&by_proxy(&origin.url(&format!("/{n}")))).await).await;
        assert_eq!(row.state, State::Complete);
        for attempt in bench.engine.attempts(row.id).await.unwrap().iter().filter(|one| one.code.is_some()) {
            assert_eq!(attempt.code, Some(Code::DownloadProxyFailed), "{attempt:#?}");
            assert_eq!(context(attempt)["proxy"], "proxies/eu#2");
            doubted += 1;
        }
    }
    assert_eq!((doubted, impostor.requests()), (1, 0), "then others are asked first about this host");
    assert_eq!(alone(&pools), [""; 0]);
    for target in [host(origin.address()), "proxies:eu".to_owned()] {
        assert_eq!(bench.breaker(&target).await, "closed", "{target}");
    }
    running.drain().await;
}

#[tokio::test]
async fn a_certificate_that_two_proxies_bring_is_the_origins_own() {
    let (bench, [one, two]) = (Bench::new().await, tunnels().await);
    let origin = Origin::start_impostor().await.unwrap();
    let running = bench.start_with(through(&[&one, &two], &[]));
    let (code, attempts) = bench.fails(&by_proxy(&origin.url("/a"))).await;
    assert_eq!((code, attempts.len()), (Code::DownloadTls, 2), "{attempts:#?}");
    assert_eq!(attempts[0].code, Some(Code::DownloadProxyFailed));
    let (code, attempts) = bench.fails(&crate::bench::resource(&origin.url("/b"))).await;
    assert_eq!((code, attempts.len()), (Code::DownloadTls, 1), "nobody else can have shown it");
    running.drain().await;

    // Nobody else can tell: it is tried within the budget of proxies.
    let bench = Bench::new().await;
    let options = through(&[&one], &[]);
    let running = bench.start_with(options);
    let (code, attempts) = bench.fails(&by_proxy(&origin.url("/c"))).await;
    assert_eq!((code, attempts.len()), (Code::DownloadProxyFailed, 11), "{attempts:#?}");
    running.drain().await;
}
