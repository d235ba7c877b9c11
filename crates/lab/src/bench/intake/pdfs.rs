//! Small PDFs: one page of forty lines, each file with words of its own.

use std::path::Path;

use anyhow::Result;
use redrive_gateway::sample;

/// One of them.
#[must_use]
pub fn pdf(n: usize) -> Vec<u8> {
    let line = |line: usize| {
        let height = 740 - 16 * line;
        format!("BT /F1 11 Tf 72 {height} Td (Line {line} of file {n}: the quick brown fox jumps) Tj ET\n")
    };
    sample::page(&(0..40).map(line).collect::<String>())
}

/// How a file is called.
#[must_use]
pub fn name(n: usize) -> String {
    format!("{n:06}.pdf")
}

/// Writes so many into a folder.
pub fn make(folder: &Path, count: usize) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    (0..count).try_for_each(|n| Ok(std::fs::write(folder.join(name(n)), pdf(n))?))
}
