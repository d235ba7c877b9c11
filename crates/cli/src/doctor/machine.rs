//! The machine around the jobs: settings, data folder, server, disk, clock.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use redrive_api::Finding;
use redrive_blob::Location;
use redrive_blob::room::{self, Space};
use redrive_model::Timestamp;
use redrive_store::clock::{Clock, SystemClock};
use redrive_store::{JobFilter, PageRequest, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::local::ServerFile;
use crate::settings::{Serving, Values};

/// A server on this machine answers within this.
const QUICK: Duration = Duration::from_secs(3);
/// Nothing here decides by a worker's clock, so a few seconds only confuse people.
const SKEW: Duration = Duration::from_secs(5);

/// The settings can be used; what is odd about them, and a file with secrets that others can read.
pub(super) fn settings(values: &Values) -> Vec<Finding> {
    let mut found = vec![Finding::good("settings", "all can be used")];
    for warning in values.warnings() {
        found.push(Finding::note(
            "settings",
            warning,
            "Correct or remove it; redrive config show tells what holds.",
        ));
    }
    if let Some(path) = values.file_with_secrets()
        && let Ok(meta) = std::fs::metadata(path)
        && meta.permissions().mode() & 0o077 != 0
    {
        let what = format!(
            "{} holds secrets and has mode {:o}: others on this machine can read them",
            path.display(),
            meta.permissions().mode() & 0o777
        );
        found.push(Finding::note("settings", what, format!("chmod 600 {}", path.display())));
    }
    found
}

/// The data folder is there, private, and takes files.
pub(super) fn folder(data_dir: &Path) -> Vec<Finding> {
    let shown = data_dir.display();
    let Ok(meta) = std::fs::metadata(data_dir) else {
        let next =
            "redrive serve makes it; start this command where the server runs, or name it with --data-dir.";
        return vec![Finding::note("folder", format!("{shown} does not exist yet"), next)];
    };
    let mode = meta.permissions().mode() & 0o777;
    let mut found = Vec::new();
    if mode & 0o077 != 0 {
        let what = format!("{shown} has mode {mode:o}: others on this machine can read documents and tokens");
        found.push(Finding::note("folder", what, format!("chmod 700 {shown}")));
    }
    if let Err(error) = tempfile::Builder::new().prefix(".redrive-doctor-").tempfile_in(data_dir) {
        let next = "Let the user that redrive runs as write there, and see whether the disk is full or mounted for reading only.";
        found.push(Finding::bad("folder", format!("nothing can be written to {shown}: {error}"), next));
    }
    if found.is_empty() {
        found
            .push(Finding::good("folder", format!("{shown} can be written to, and read by its owner alone")));
    }
    found
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
    for place in [&serving.uploads, &serving.results, &serving.fetching.to] {
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

/// How far our clock is from the database's. Where they are the same one, whether it has gone back.
pub(super) async fn clock(store: &dyn Store) -> Finding {
    let Ok(theirs) = store.now().await else {
        return Finding::bad("clock", "the database does not tell the time", "See whether it is up.");
    };
    let newest = store.jobs(JobFilter::default(), PageRequest { limit: 1, cursor: None }).await;
    let newest = newest.ok().and_then(|page| page.rows.first().map(|row| row.created_at));
    compare(SystemClock.now(), theirs, newest)
}

fn compare(ours: Timestamp, theirs: Timestamp, newest: Option<Timestamp>) -> Finding {
    let skew = ours.duration_since(theirs).unsigned_abs();
    if skew > SKEW {
        let what = format!("this machine's is {} s away from the database's", skew.as_secs());
        let next = "Set the clocks by NTP. Leases and retries go by the database's, so nothing breaks, but times here look odd.";
        return Finding::note("clock", what, next);
    }
    let ahead = newest.map(|newest| newest.duration_since(theirs)).filter(|ahead| ahead.is_positive());
    match ahead.map(|ahead| ahead.unsigned_abs()).filter(|ahead| *ahead > SKEW) {
        Some(ahead) => {
            let what =
                format!("the newest job was made {} s in the future: the clock went back", ahead.as_secs());
            Finding::note(
                "clock",
                what,
                "Set it by NTP. What is due later waits that much longer; nothing is lost.",
            )
        }
        None => Finding::good("clock", "agrees with the database's and with its jobs"),
    }
}

#[cfg(test)]
mod tests {
    use redrive_api::FindingLevel;

    use super::*;

    #[test]
    fn a_clock_that_differs_or_went_back_is_told() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (ours, theirs, newest, level, says) in [
            (1_000, 1_003, Some(990), FindingLevel::Good, "agrees"),
            (1_000, 1_000, None, FindingLevel::Good, "agrees"),
            (1_000, 1_090, Some(990), FindingLevel::Note, "90 s away"),
            (1_090, 1_000, Some(990), FindingLevel::Note, "90 s away"),
            (1_000, 1_000, Some(4_600), FindingLevel::Note, "3600 s in the future"),
        ] {
            let found = compare(at(ours), at(theirs), newest.map(at));
            assert_eq!((found.level, found.what.contains(says)), (level, true), "{found:?}");
        }
    }

    #[test]
    fn a_folder_that_others_can_read_or_nobody_can_write_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let chmod = |mode| std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(mode)).unwrap();
        chmod(0o755);
        let found = folder(dir.path());
        assert!(
            found.iter().any(|one| one.level == FindingLevel::Note && one.what.contains("755")),
            "{found:?}"
        );
        chmod(0o700);
        assert!(folder(dir.path()).iter().all(|one| one.level == FindingLevel::Good));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing stays");
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let found = folder(&file);
        assert!(found.iter().any(|one| one.level == FindingLevel::Bad && one.next.is_some()), "{found:?}");
    }
}
