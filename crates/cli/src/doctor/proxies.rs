//! Whether the proxies of `[proxy_pools]` can be reached. They are told by their number: where they are may be a secret.

use std::time::Duration;

use futures::future::join_all;
use redrive_api::Finding;
use redrive_fetch::PoolOptions;
use tokio::net::TcpStream;
use url::Url;

use crate::settings::Values;

/// A proxy that is there takes a connection within this.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many are named; the rest is a number.
const NAMED: usize = 5;

/// One finding for each pool.
pub(super) async fn examine(values: &Values) -> Vec<Finding> {
    join_all(values.pools().iter().map(|(name, pool)| one(name, pool))).await
}

async fn one(name: &str, pool: &PoolOptions) -> Finding {
    let tried = join_all(pool.proxies.iter().map(|proxy| reach(proxy))).await;
    let away: Vec<String> = (1..)
        .zip(tried)
        .filter_map(|(n, reached)| Some(format!("{name}#{n} ({})", reached.err()?)))
        .collect();
    let all = pool.proxies.len();
    let more = away.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = || away.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let next = "See whether they are up and whether [proxy_pools] in redrive.toml is right.";
    match away.len() {
        0 => Finding::good("proxies", format!("pool {name}: all {all} take connections")),
        gone if gone < all => {
            let what = format!(
                "pool {name}: {gone} of {all} cannot be reached: {}{more}; the others are used",
                named()
            );
            Finding::note("proxies", what, next)
        }
        _ => {
            let what = format!(
                "pool {name}: none of {all} can be reached: {}{more}; downloads that want it wait, or use its fallbacks",
                named()
            );
            Finding::bad("proxies", what, next)
        }
    }
}

/// Connects, and says nothing.
async fn reach(proxy: &str) -> Result<(), String> {
    let url = Url::parse(proxy).map_err(|_| "its URL cannot be read".to_owned())?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err("its URL names no host".to_owned());
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match tokio::time::timeout(PATIENCE, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.kind().to_string()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use redrive_api::FindingLevel;

    use super::*;

    #[tokio::test]
    async fn a_pool_is_well_poor_or_gone_and_no_password_is_told() {
        let open = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let there = format!("http://user:CANARY@{}", open.local_addr().unwrap());
        let gone = format!("http://user:CANARY@{}", closed.local_addr().unwrap());
        drop(closed);
        for (proxies, level, says) in [
            (vec![there.clone(), there.clone()], FindingLevel::Good, "all 2"),
            (
                vec![there, gone.clone()],
                FindingLevel::Note,
                "1 of 2 cannot be reached: eu#2 (connection refused)",
            ),
            (vec![gone], FindingLevel::Bad, "none of 1 can be reached"),
            (vec!["CANARY".to_owned()], FindingLevel::Bad, "its URL cannot be read"),
        ] {
            let found = one("eu", &PoolOptions { proxies, fallbacks: Vec::new() }).await;
            assert_eq!(
                (found.level, found.next.is_some()),
                (level, level != FindingLevel::Good),
                "{found:?}"
            );
            assert!(found.what.contains(says) && !found.what.contains("CANARY"), "{found:?}");
        }
    }
}
