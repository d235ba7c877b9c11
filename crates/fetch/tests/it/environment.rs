//! What the environment of the process says about proxies is not for us.

use redrive_fetch::DownloadOptions;
use redrive_lab::origin::{Origin, certificate};
use redrive_lab::tunnel::Tunnel;

use crate::bench::{Bench, quick};

/// Set in the process that fetches: what it is to fetch.
const WANTED: &str = "REDRIVE_TEST_WANTED";

/// Covers R7 of the security rules: a process in whose environment every proxy variable is set asks no proxy.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "this is about the environment itself")]
async fn proxies_of_the_environment_are_not_used() {
    if let Some(wanted) = std::env::var_os(WANTED) {
        let bench = Bench::new().await;
        let running = bench.start_with(DownloadOptions { roots: vec![certificate()], ..quick() });
        bench.fetch_all(wanted.to_str().unwrap().split(' ').map(ToOwned::to_owned)).await;
        running.drain().await;
        return;
    }
    let (plain, tls) = (Origin::start().await.unwrap(), Origin::start_tls().await.unwrap());
    let proxy = Tunnel::start().await.unwrap();
    let names = ["http_proxy", "https_proxy", "all_proxy"];
    let names = names.iter().flat_map(|name| [name.to_string(), name.to_uppercase()]);
    let ended = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "environment::proxies_of_the_environment_are_not_used", "--nocapture"])
        .env(WANTED, format!("{} {}", plain.url("/a"), tls.url("/b")))
        .envs(names.map(|name| (name, proxy.url())))
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .await
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    assert_eq!((plain.count("/a"), tls.count("/b")), (1, 1));
    assert_eq!(proxy.asked(), []);
}
