//! One look at a folder of so many files.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use redrive_blob::shelf::FolderShelf;
use redrive_intake::Scanner;

use super::pdfs;
use crate::bench::measure::median;

/// So often it is looked; the median counts.
const LOOKS: usize = 9;

/// How long a look takes, in seconds.
pub async fn run(home: &Path, files: usize) -> Result<f64> {
    pdfs::make(&home.join("queue"), files)?;
    let shelf = FolderShelf::open(home).await?;
    let mut scanner = Scanner::new(Duration::ZERO);
    let mut took = Vec::new();
    for _ in 0..LOOKS {
        let began = Instant::now();
        let look = scanner.look(&shelf).await?;
        took.push(began.elapsed().as_secs_f64());
        ensure!(look.ready.len() == files, "{} of {files} were found", look.ready.len());
    }
    Ok(median(took))
}
