//! The machine around the jobs: folder, server, disk, gateway, clock.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use redrive_blob::Location;
use redrive_blob::room::{self, Space};
use redrive_store::Store;
use redrive_store::clock::{Clock, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Finding;
use crate::local::ServerFile;
use crate::settings::{Place, Serving, StoreUrl};
use crate::wiring;

/// A server on this machine answers within this.
const QUICK: Duration = Duration::from_secs(3);
/// Nothing here decides by a worker's clock, so a few seconds only confuse people.
const SKEW: Duration = Duration::from_secs(5);

/// The data folder is there and private.
pub(super) fn folder(data_dir: &Path) -> Option<Finding> {
    let shown = data_dir.display();
    let Ok(meta) = std::fs::metadata(data_dir) else {
        let next =
            "redrive serve makes it; start this command where the server runs, or name it with --data-dir.";
        return Some(Finding::note("folder", format!("{shown} does not exist yet"), next));
    };
    let mode = meta.permissions().mode() & 0o777;
    Some(if mode & 0o077 == 0 {
        Finding::good("folder", format!("{shown} is readable by its owner alone"))
    } else {
        let what = format!("{shown} has mode {mode:o}: others on this machine can read documents and tokens");
        Finding::note("folder", what, format!("chmod 700 {shown}"))
    })
}

/// Whether a server runs here, by what it left in its folder.
pub(super) async fn server(data_dir: &Path) -> Finding {
    let Some(file) = ServerFile::read(data_dir) else {
        return Finding::note("server", "none runs on this folder", "redrive serve starts one.");
    };
    let address = file.url.strip_prefix("http://").unwrap_or_default().trim_end_matches('/');
    let (url, pid) = (&file.url, file.pid);
    match tokio::time::timeout(QUICK, healthy(address)).await {
        Ok(Ok(true)) => Finding::good("server", format!("process {pid} answers at {url}")),
        Ok(Ok(false)) => {
            let what = format!("process {pid} answers at {url}, but cannot take work");
            Finding::bad("server", what, "Look at the store below, and at the server's log.")
        }
        Ok(Err(_)) if !Path::new(&format!("/proc/{pid}")).exists() => {
            let what = format!("server.json is stale: process {pid} ended without a clean stop");
            Finding::note("server", what, "redrive serve replaces it; nothing that was accepted is lost.")
        }
        Ok(Err(error)) => {
            let what = format!("process {pid} does not answer at {url}: {error}");
            Finding::bad("server", what, "Look at its log; restart it when it hangs.")
        }
        Err(_) => {
            let what = format!("process {pid} takes longer than {} s to answer at {url}", QUICK.as_secs());
            Finding::bad("server", what, "Look at its log; restart it when it hangs.")
        }
    }
}

async fn healthy(address: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(4096).read_to_end(&mut answer).await?;
    Ok(answer.starts_with(b"HTTP/1.1 200"))
}

/// Room on every disk that is written to.
pub(super) fn room(data_dir: &Path, serving: &Serving) -> Vec<Finding> {
    let mut folders = vec![data_dir];
    for place in [&serving.uploads, &serving.results] {
        if let Location::Folder(folder) = place {
            folders.push(folder);
        }
    }
    folders.retain(|folder| folder.exists());
    folders.dedup_by(|a, b| a.starts_with(&**b));
    let room = serving.limits.room;
    let one = |folder: &&Path| {
        let shown = folder.display();
        match room::free(folder).map(|free| (free, room.check(free, 0))) {
            Ok((free, Ok(Space::Plenty))) => {
                Finding::good("disk", format!("{} free in {shown}", words(free)))
            }
            Ok((free, Ok(Space::Low))) => {
                let what = format!("{} free in {shown}, below DISK_SOFT_BYTES", words(free));
                Finding::note("disk", what, "Free some space before uploads are refused.")
            }
            Ok((free, Err(_))) => {
                let what =
                    format!("{} free in {shown}, below DISK_HARD_BYTES: uploads are refused", words(free));
                Finding::bad("disk", what, "Free some space; work goes on by itself.")
            }
            Err(error) => {
                Finding::bad("disk", format!("{shown}: {error}"), "See whether the disk is mounted.")
            }
        }
    };
    folders.iter().map(one).collect()
}

fn words(bytes: u64) -> String {
    const GIB: f64 = 1_073_741_824.0;
    format!("{:.1} GiB", bytes as f64 / GIB)
}

/// Whether the folder of people is there and can be written to. Of a bucket only the name is told: to ask it is to write into it.
pub(super) fn intake(serving: &Serving) -> Option<Finding> {
    let place = &serving.intaking.as_ref()?.place;
    let Location::Folder(folder) = place else {
        return Some(Finding::good("intake", format!("PDFs are taken from {place}/queue")));
    };
    let queue = folder.join("queue");
    let shown = queue.display();
    let next = "redrive serve makes it; see whether INTAKE_URL is right and its disk is mounted.";
    Some(match std::fs::metadata(&queue) {
        Ok(meta) if meta.is_dir() && !meta.permissions().readonly() => {
            Finding::good("intake", format!("PDFs are taken from {shown}"))
        }
        Ok(_) => {
            let what = format!("{shown} cannot be written to: PDFs there are not taken");
            Finding::bad("intake", what, "Give the user that redrive runs as the right to write there.")
        }
        Err(error) => Finding::note("intake", format!("{shown}: {error}"), next),
    })
}

/// Whether somebody converts.
pub(super) async fn gateway(serving: &Serving) -> Finding {
    let Some(url) = &serving.work.gateway else {
        return Finding::good("gateway", "built in: it runs inside serve and worker");
    };
    let shown = redrive_model::redact::redact(url.as_str());
    let asked = match wiring::gateway(&serving.work, url.clone()) {
        Ok(gateway) => gateway.mappings().await.map_err(|failure| failure.message),
        Err(stop) => Err(stop.message().to_owned()),
    };
    match asked {
        Ok(mappings) => {
            Finding::good("gateway", format!("{shown} answers and knows {} mappings", mappings.len()))
        }
        Err(why) => {
            let next = "See whether it is up and whether GATEWAY_URL is right; jobs wait meanwhile and lose nothing.";
            Finding::bad("gateway", format!("{shown}: {why}"), next)
        }
    }
}

/// How far our clock is from the database's.
pub(super) async fn clock(store: &dyn Store, place: &Place) -> Option<Finding> {
    if matches!(place.store, StoreUrl::Sqlite(_)) {
        return None;
    }
    let theirs = store.now().await.ok()?;
    let skew = SystemClock.now().duration_since(theirs).unsigned_abs();
    Some(if skew <= SKEW {
        Finding::good("clock", "agrees with the database's")
    } else {
        let what = format!("is {} s away from the database's", skew.as_secs());
        let next = "Set the clocks by NTP. Leases and retries go by the database's, so nothing breaks, but times here look odd.";
        Finding::note("clock", what, next)
    })
}
