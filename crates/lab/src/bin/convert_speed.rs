//! `convert-speed`: what `redrive convert` adds to the conversions themselves.
//!
//! `cargo build --release -p redrive-cli && cargo run --release -p redrive-lab --bin convert-speed -- target/release/redrive`.
//! The same small PDFs go three ways: to a gateway as it comes, over HTTP, which is how everybody converts, by a client that does
//! nothing else and keeps nothing; through the command as it comes; and, for those who want to know what HTTP costs, through the gateway's
//! children alone. The quotient of the first two times is the share of the machine that is left for conversions. Rounds alternate,
//! the median counts. Processor times are told beside: they say the same on a machine that others use too. Exits 1 below the promise.

#![allow(clippy::print_stdout, reason = "a command: the figures are its output")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use redrive_gateway::cage::{Cage, Outcome, Settings, Task, stopper};
use redrive_gateway::write::Mapping;
use redrive_gateway::{http, sample};
use redrive_lab::bench::measure::processor;

/// At least this share.
const PROMISE: f64 = 0.8;

/// Measures the command.
#[derive(Debug, Parser)]
struct Args {
    /// The program, built for release.
    program: PathBuf,
    /// A folder of PDFs [default: files that are made for it]
    #[arg(long)]
    pdfs: Option<PathBuf>,
    /// How many files are made.
    #[arg(long, default_value_t = 1_000)]
    files: usize,
    /// How often both are measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where everything lies while it is measured.
    #[arg(long, default_value = ".")]
    on: PathBuf,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let program = args.program.canonicalize().context("there is no such program")?;
    let place = tempfile::tempdir_in(&args.on)?;
    let pdfs = match &args.pdfs {
        Some(folder) => folder.clone(),
        None => made(place.path(), args.files)?,
    };
    let files: Vec<PathBuf> = pdfs.read_dir()?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let cores = std::thread::available_parallelism()?.get();
    let gateway = Gateway::start(&program)?;
    let n = files.len() as f64;
    let told = |(wall, cpu): (f64, f64)| {
        format!("{wall:.2} s ({:.0}/s, {:.2} ms of processor each)", n / wall, cpu * 1_000.0 / n)
    };
    let mut shares = Vec::new();
    for round in 1..=args.rounds {
        let children = timed(|| in_threads(&files, cores, || children(&program)))?;
        let alone = timed(|| in_threads(&files, cores * 2 + 2, || gateway.client()))?;
        let whole = timed(|| whole(&program, &pdfs, &place.path().join(round.to_string())))?;
        println!("round {round}, {n} files: children alone {}", told(children));
        println!("  the gateway alone {}", told(alone));
        println!("  redrive convert   {}", told(whole));
        println!(
            "  share {:.3}, of processor {:.3}; of the children alone {:.3}, {:.3}",
            alone.0 / whole.0,
            alone.1 / whole.1,
            children.0 / whole.0,
            children.1 / whole.1
        );
        shares.push(alone.0 / whole.0);
    }
    shares.sort_by(f64::total_cmp);
    let median = shares.get(shares.len() / 2).copied().context("no round")?;
    println!("median share {median:.3}, promised {PROMISE}");
    ensure!(median >= PROMISE, "below the promise");
    Ok(())
}

/// Files of one page, each with words of its own.
fn made(place: &Path, count: usize) -> Result<PathBuf> {
    let folder = place.join("pdfs");
    std::fs::create_dir(&folder)?;
    for n in 0..count {
        let lines: String = (0..40)
            .map(|line| {
                format!(
                    "BT /F1 11 Tf 72 {} Td (Line {line} of file {n}: the quick brown fox jumps) Tj ET\n",
                    740 - 16 * line
                )
            })
            .collect();
        std::fs::write(folder.join(format!("{n:04}.pdf")), sample::page(&lines))?;
    }
    Ok(folder)
}

/// Every file once, by so many threads, each with what `worker` makes.
fn in_threads<F: FnMut(&Path) -> Result<()>>(
    files: &[PathBuf],
    threads: usize,
    worker: impl Fn() -> Result<F> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            let mut convert = worker()?;
            while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                convert(path)?;
            }
            Ok(())
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a thread broke"))?)
    })
}

/// The gateway's children, and nothing around them.
fn children(program: &Path) -> Result<impl FnMut(&Path) -> Result<()>> {
    let cage = Cage::new(Settings { program: program.to_owned(), ..Settings::default() });
    let mapping = Mapping::from_name("text").context("no such mapping")?;
    let (keep, stopped) = stopper()?;
    Ok(move |path: &Path| {
        let _ = &keep;
        let outcome = cage.run(&File::open(path)?, &Task::Convert { mapping, pages: None }, &stopped);
        let outcome = outcome.map_err(|fault| anyhow::anyhow!("{fault:?}"))?;
        ensure!(matches!(outcome, Outcome::Done(_)), "{}: {outcome:?}", path.display());
        Ok(())
    })
}

/// A gateway in this process.
struct Gateway {
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Gateway {
    fn start(program: &Path) -> Result<Self> {
        let runtime = tokio::runtime::Runtime::new()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let cage = Settings { program: program.to_owned(), ..Settings::default() };
        let settings = http::Settings { cage, ..http::Settings::default() };
        runtime.spawn(http::serve(listener, settings, std::future::pending()));
        Ok(Self { address, _runtime: runtime })
    }

    /// The plainest client: one connection, one request after the other.
    fn client(&self) -> Result<impl FnMut(&Path) -> Result<()>> {
        let mut wire = BufReader::new(TcpStream::connect(self.address)?);
        Ok(move |path: &Path| {
            let head = "--x\r\nContent-Disposition: form-data; name=\"mapping\"\r\n\r\ntext\r\n--x\r\nContent-Disposition: form-data; \
                        name=\"file\"; filename=\"a.pdf\"\r\n\r\n";
            let (pdf, tail) = (std::fs::read(path)?, "\r\n--x--\r\n");
            let length = head.len() + pdf.len() + tail.len();
            let mut request = format!(
                "POST /process HTTP/1.1\r\nHost: a\r\nAccept: application/xml\r\n\
                 Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {length}\r\n\r\n{head}"
            )
            .into_bytes();
            request.extend(pdf);
            request.extend(tail.as_bytes());
            wire.get_mut().write_all(&request)?;
            let (mut line, mut body) = (String::new(), 0);
            wire.read_line(&mut line)?;
            ensure!(line.starts_with("HTTP/1.1 200"), "{}: {line}", path.display());
            while line != "\r\n" {
                line.clear();
                wire.read_line(&mut line)?;
                if let Some(length) = line.strip_prefix("content-length: ") {
                    body = length.trim().parse()?;
                }
            }
            ensure!(body > 0, "{}: no result", path.display());
            wire.read_exact(&mut vec![0; body])?;
            Ok(())
        })
    }
}

/// The command, from its start to its end, with a state and an out folder of its own.
fn whole(program: &Path, pdfs: &Path, place: &Path) -> Result<()> {
    let status = Command::new(program)
        .arg("convert")
        .arg(pdfs)
        .arg("--out")
        .arg(place.join("xml"))
        .arg("--data-dir")
        .arg(place.join("data"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "redrive convert ended with {status}");
    Ok(())
}

/// How long something takes, on the wall and of processors: ours, and of those that we waited for.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<(f64, f64)> {
    let both = || processor().0 + processor().1;
    let (began, before) = (Instant::now(), both());
    work()?;
    Ok((began.elapsed().as_secs_f64(), both() - before))
}
