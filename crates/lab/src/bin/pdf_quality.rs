//! `pdf-quality`: how well and how fast the gateway reads PDFs, against Poppler, PDFium and MuPDF.
//!
//! `cargo run --release -p redrive-lab --bin pdf-quality -- ../shared/pdfs --python PYTHON`. Needs `pdftotext` and a Python
//! with `pypdfium2`, `pymupdf` and `pypdf`. Exits 1 when a promise is broken.

#![allow(clippy::print_stdout, reason = "a command: the table is its output")]

use anyhow::{Context, Result, ensure};
use clap::Parser;
use redrive_gateway::pdf::{self, Ask};
use redrive_lab::quality::cost::{self, Costs};
use redrive_lab::quality::peers::Others;
use redrive_lab::quality::score::{self, agreement};
use std::path::{Path, PathBuf};

/// Agreement with the others, compared with their own.
const AGREEMENT: f64 = 0.98;
/// Boxes within two points of Poppler's.
const BOXES: f64 = 0.97;
/// Processor time compared with Poppler's and PDFium's.
const POPPLER: f64 = 1.0;
const PDFIUM: f64 = 1.3;
/// Peak memory in MiB.
const MEMORY: f64 = 150.0;

/// Measures the reader of PDFs.
#[derive(Debug, Parser)]
struct Args {
    /// A folder of PDFs, or one PDF.
    path: PathBuf,
    /// A Python with `pypdfium2`, `pymupdf` and `pypdf`.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Runs per measurement; the fastest counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Pages of the large file that is made of the folder's largest one; 0 leaves it out.
    #[arg(long, default_value_t = 1500)]
    large: u32,
    /// Leave time and memory out.
    #[arg(long)]
    no_cost: bool,
    /// Only read the file: what is measured.
    #[arg(long)]
    only_read: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if args.only_read {
        let document = pdf::read(std::fs::read(&args.path)?, &Ask::default());
        println!(
            "{}",
            document.map_or_else(|refusal| refusal.code().to_owned(), |d| d.pages.len().to_string())
        );
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let others = Others::new(args.python.clone(), folder.path())?;
    let files = files(&args.path)?;
    let words_kept = quality(&others, &files)?;
    let cost_kept = args.no_cost || costs(&args, &others, &files, folder.path())?;
    ensure!(words_kept && cost_kept, "a promise is not kept");
    Ok(())
}

fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("no folder {}", path.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pdf"));
    files.sort();
    ensure!(!files.is_empty(), "no PDFs in {}", path.display());
    Ok(files)
}

/// Prints agreement and boxes of each file; whether the promises are kept.
fn quality(others: &Others, files: &[PathBuf]) -> Result<bool> {
    println!("| file | Poppler | PDFium | MuPDF | among them | ours / theirs | boxes |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let (mut sum, mut scored, mut near, mut shared) = (0.0, 0_u32, 0, 0);
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let document = match pdf::read(std::fs::read(file)?, &Ask::default()) {
            Ok(document) => document,
            Err(refusal) => {
                println!("| {name} | {} | | | | | |", refusal.code());
                continue;
            }
        };
        let Some(peers) = others.read(file)? else {
            println!("| {name} | refused by another | | | | | |");
            continue;
        };
        let placed = score::placed(&document);
        let mut ours = score::Words::new();
        for word in placed.iter().filter(|word| !word.text.is_empty()) {
            *ours.entry(word.text.clone()).or_default() += 1;
        }
        let with = [&peers.poppler, &peers.pdfium, &peers.mupdf].map(|peer| agreement(&ours, peer));
        let among = [
            agreement(&peers.poppler, &peers.pdfium),
            agreement(&peers.poppler, &peers.mupdf),
            agreement(&peers.pdfium, &peers.mupdf),
        ];
        let (mine, theirs) = (with.iter().sum::<f64>() / 3.0, among.iter().sum::<f64>() / 3.0);
        let ratio = if theirs > 0.0 { mine / theirs } else { 1.0 };
        let (near_here, shared_here) = score::boxes(&placed, &peers.boxes);
        let [poppler, pdfium, mupdf] = with;
        println!(
            "| {name} | {poppler:.3} | {pdfium:.3} | {mupdf:.3} | {theirs:.3} | {ratio:.3} | {near_here}/{shared_here} |"
        );
        if !peers.poppler.is_empty() {
            // Nearer to the others than they are to each other is no more than as near.
            sum += ratio.min(1.0);
            scored += 1;
        }
        near += near_here;
        shared += shared_here;
    }
    let (words, boxes) = (sum / f64::from(scored.max(1)), near as f64 / (shared as f64).max(1.0));
    println!(
        "\nagreement {words:.4} (promised {AGREEMENT}) on {scored} files, boxes {boxes:.4} (promised {BOXES})"
    );
    Ok(words >= AGREEMENT && boxes >= BOXES)
}

/// Prints time and memory; whether the promises are kept.
fn costs(args: &Args, others: &Others, files: &[PathBuf], folder: &Path) -> Result<bool> {
    let ours = std::env::current_exe()?;
    let mut all: Vec<(String, PathBuf)> = Vec::new();
    for file in files {
        all.push((file.file_name().unwrap_or_default().to_string_lossy().into_owned(), file.clone()));
    }
    let largest = files.iter().max_by_key(|file| file.metadata().map(|data| data.len()).unwrap_or(0));
    if let (Some(largest), true) = (largest, args.large > 0) {
        let made = folder.join("large.pdf");
        let done = others.helper("large").arg(&made).arg(args.large.to_string()).arg(largest).status()?;
        ensure!(done.success(), "the large file could not be made");
        all.push((format!("{} pages", args.large), made));
    }
    println!("\n| file | ours ms | Poppler ms | PDFium ms | ours MiB |");
    println!("|---|--:|--:|--:|--:|");
    let (mut sum, mut memory) = ([0.0; 3], 0.0_f64);
    for (name, file) in &all {
        let Costs { ours, poppler, pdfium } = cost::measure(others, &ours, file, args.runs)?;
        let [a, b, c] = [ours, poppler, pdfium].map(|cost| cost.seconds * 1000.0);
        println!("| {name} | {a:.1} | {b:.1} | {c:.1} | {:.0} |", ours.mebibytes);
        for (sum, more) in sum.iter_mut().zip([a, b, c]) {
            *sum += more;
        }
        memory = memory.max(ours.mebibytes);
    }
    let [ours, poppler, pdfium] = sum;
    let (to_poppler, to_pdfium) = (ours / poppler.max(0.001), ours / pdfium.max(0.001));
    println!(
        "\ntime {to_poppler:.2} of Poppler's (promised {POPPLER}), {to_pdfium:.2} of PDFium's (promised {PDFIUM}), \
         at most {memory:.0} MiB (promised {MEMORY})"
    );
    Ok(to_poppler <= POPPLER && to_pdfium <= PDFIUM && memory <= MEMORY)
}
