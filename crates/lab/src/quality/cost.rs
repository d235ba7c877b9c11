//! Processor time and memory, each reader in a process of its own and measured in the same way.

use super::peers::Others;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::Path;

/// What a reader needed for some files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Of the processor, the least of all runs.
    pub seconds: f64,
    /// The most that was held at once.
    pub mebibytes: f64,
}

/// What the readers needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// This reader: bytes to page model.
    pub ours: Cost,
    /// `pdftotext -bbox-layout`.
    pub poppler: Cost,
    /// PDFium's text extraction, without what starting Python takes.
    pub pdfium: Cost,
}

/// Measures all readers on one file.
///
/// # Errors
///
/// When one of them cannot be started.
pub fn measure(others: &Others, ours: &Path, file: &Path, runs: u32) -> Result<Costs> {
    let run = |command: Vec<OsString>| cost(others, command, runs);
    let with_file = |mut command: Vec<OsString>| {
        command.push(file.into());
        command
    };
    let helper = || vec![others.python.clone().into(), others.helper.clone().into(), "pdfium".into()];
    let idle = run(helper())?;
    let pdfium = run(with_file(helper()))?;
    Ok(Costs {
        ours: run(with_file(vec![ours.into(), "--only-read".into()]))?,
        poppler: run(vec!["pdftotext".into(), "-bbox-layout".into(), file.into(), "/dev/null".into()])?,
        pdfium: Cost { seconds: (pdfium.seconds - idle.seconds).max(0.0), ..pdfium },
    })
}

fn cost(others: &Others, command: Vec<OsString>, runs: u32) -> Result<Cost> {
    let found =
        others.helper("cost").arg(runs.to_string()).arg("--").args(command).output().context("no Python")?;
    ensure!(found.status.success(), "measuring failed: {}", String::from_utf8_lossy(&found.stderr));
    let found: serde_json::Value = serde_json::from_slice(&found.stdout)?;
    let number = |key: &str| found.get(key).and_then(serde_json::Value::as_f64).context("no number");
    Ok(Cost { seconds: number("seconds")?, mebibytes: number("mebibytes")? })
}
