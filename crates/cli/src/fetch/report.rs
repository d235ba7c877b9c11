//! What became of everything, when it has ended: stdout is data (what is stored where, or JSON), stderr is messages.

use std::io::{BufWriter, Write, stdout};
use std::os::fd::AsFd;
use std::path::Path;

use indicatif::HumanCount;
use redrive_api::FetchSnapshot;
use redrive_model::{Code, Shown};

use super::doer::Doer;
use super::progress::codes;
use crate::exit::{Exit, Stop};
use crate::say;

/// So many failures are told one by one to people.
const TOLD: usize = 20;

/// Tells about every resource: stored ones on stdout, the first failures on stderr. With `json` all of them as JSON lines.
pub(crate) async fn report(
    doer: &Doer,
    json: bool,
    place: impl Fn(Option<&str>) -> String,
) -> Result<(), Stop> {
    if !json {
        stored(doer, place).await?;
        return failed(doer).await;
    }
    let mut out = BufWriter::new(stdout().lock());
    each(doer, &[], |resource| {
        let line = serde_json::to_string(&resource).map_err(std::io::Error::from)?;
        say::sent(writeln!(out, "{line}"))
    })
    .await?;
    say::sent(out.flush())
}

/// What is stored where, on stdout.
async fn stored(doer: &Doer, place: impl Fn(Option<&str>) -> String) -> Result<(), Stop> {
    let mut out = BufWriter::new(stdout().lock());
    each(doer, &[Shown::Complete], |resource| {
        let key = resource.key.as_deref().unwrap_or_default();
        say::sent(writeln!(out, "{} → {}/{key}", resource.id, place(resource.place.as_deref())))
    })
    .await?;
    say::sent(out.flush())
}

/// The first failures, on stderr.
pub(crate) async fn failed(doer: &Doer) -> Result<(), Stop> {
    let (mut told, mut more) = (0, 0_u64);
    each(doer, &[Shown::Failed], |resource| {
        let Some(failure) = resource.failure.filter(|_| told < TOLD) else {
            more += 1;
            return Ok(());
        };
        told += 1;
        let advice = Code::parse(&failure.code).map(|code| code.entry().what_you_can_do);
        let advice = advice.unwrap_or_default();
        say::note(&format!("{}: {}: {}. {advice}", resource.id, failure.code, failure.message));
        Ok(())
    })
    .await?;
    if more > 0 {
        say::note(&format!("and {} more failed; --missing FILE writes all of them", HumanCount(more)));
    }
    Ok(())
}

/// Writes a manifest of what is missing: whole or not at all, and for its owner alone, because addresses and headers may hold secrets. `-` is
/// stdout.
pub(crate) async fn missing(doer: &Doer, path: &Path) -> Result<(), Stop> {
    let cannot =
        |error: std::io::Error| Stop::new(Exit::Failed, format!("cannot write {}: {error}", path.display()));
    if is_stdout(path) {
        let out = std::fs::File::from(stdout().as_fd().try_clone_to_owned()?);
        return doer.missing(&mut tokio::fs::File::from_std(out)).await;
    }
    // Where a link leads stays; a pipe or a device has nothing to be replaced.
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if std::fs::metadata(&place).is_ok_and(|there| !there.is_file()) {
        return doer.missing(&mut tokio::fs::File::create(&place).await.map_err(cannot)?).await;
    }
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temp = tempfile::Builder::new().prefix(".missing-").tempfile_in(folder).map_err(cannot)?;
    let mut file = tokio::fs::File::from_std(temp.as_file().try_clone().map_err(cannot)?);
    doer.missing(&mut file).await?;
    file.sync_all().await.map_err(cannot)?;
    temp.persist(&place).map_err(|error| cannot(error.error)).map(drop)
}

/// Whether a manifest goes where otherwise is told what is stored.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The sum of it, and how the command ends.
pub(crate) fn end(seen: &FetchSnapshot, before: u64, again: &str) -> Result<(), Stop> {
    let stored = seen.resources_completed.saturating_sub(before);
    let mut parts = vec![format!("{} stored", HumanCount(stored))];
    if before > 0 {
        parts.push(format!("{} as they were", HumanCount(before)));
    }
    if seen.resources_failed > 0 {
        let by_code = codes(&seen.failures_by_code);
        parts.push(format!("{} failed ({by_code})", HumanCount(seen.resources_failed)));
    }
    if seen.resources_cancelled > 0 {
        parts.push(format!("{} cancelled (--again asks for all anew)", HumanCount(seen.resources_cancelled)));
    }
    let ended = seen.resources_completed + seen.resources_failed + seen.resources_cancelled;
    let left = seen.resources_total.saturating_sub(ended);
    if left > 0 {
        parts.push(format!("{} not done", HumanCount(left)));
    }
    let sum = parts.join(", ");
    if seen.finished_at.is_none() {
        return Err(Stop::new(Exit::Interrupted, format!("{sum}; {again}")));
    }
    if seen.resources_completed < seen.resources_total {
        return Err(Stop::new(Exit::SomeFailed, sum));
    }
    say::note(&sum);
    Ok(())
}

async fn each(
    doer: &Doer,
    shown: &[Shown],
    mut tell: impl FnMut(redrive_api::FetchResource) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut cursor = None;
    loop {
        let page = doer.resources(shown, cursor).await?;
        for resource in page.resources {
            tell(resource)?;
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
}
