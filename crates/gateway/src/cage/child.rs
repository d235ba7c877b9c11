//! The child: limits first, then one file, then a report.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;

use super::order::{CHILD, Order, Task};
use super::output::{self, Report, Summary};
use super::verdict::{EXIT_BUG, EXIT_CAGE, EXIT_DISK, EXIT_DONE, EXIT_ORDER, refused};
use super::{filter, limits};
use crate::convert::{Reader, Refusal, Warning};
use crate::write::verify::{self, Limits, verify};
use crate::write::{Mapping, write};

/// Deeper than any element of ours.
const DEPTH: usize = 64;

/// Runs the child if the arguments (with the program's name first) say that this process is one, and answers its exit code.
///
/// Call it first of all in `main`, before any thread is started and any file is opened. In a process that is no child it
/// does nothing, and `reader` is not called.
///
/// ```no_run
/// # use redrive_gateway::convert::{Reader, Refusal};
/// # use redrive_gateway::page::Document;
/// # struct PdfReader;
/// # impl Reader for PdfReader {
/// #     type Properties = ();
/// #     fn read(&self, _: Vec<u8>, _: Option<std::ops::RangeInclusive<u32>>) -> Result<Document, Refusal> {
/// #         Ok(Document::default())
/// #     }
/// #     fn inspect(&self, _: Vec<u8>) -> Result<(), Refusal> {
/// #         Ok(())
/// #     }
/// # }
/// fn main() -> std::process::ExitCode {
///     if let Some(code) = redrive_gateway::cage::maybe_child(std::env::args_os(), || PdfReader) {
///         return code.into();
///     }
///     // … the program itself
///     std::process::ExitCode::SUCCESS
/// }
/// ```
pub fn maybe_child<R: Reader>(
    args: impl IntoIterator<Item = OsString>,
    reader: impl FnOnce() -> R,
) -> Option<u8> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != CHILD {
        return None;
    }
    let order = args.next().and_then(|order| serde_json::from_slice(order.as_encoded_bytes()).ok());
    Some(order.map_or(EXIT_ORDER, |order| child(&order, reader)))
}

fn child<R: Reader>(order: &Order, reader: impl FnOnce() -> R) -> u8 {
    let Some(task) = order.task() else { return EXIT_ORDER };
    if let Err(error) = limits::bind_to_parent(order).and_then(|()| limits::set(order)) {
        complain(&format!("cannot limit itself: {error}"));
        return EXIT_CAGE;
    }
    quiet_panics();
    let files = own(io::stdin().as_fd()).and_then(|input| Ok((input, own(io::stdout().as_fd())?)));
    let unfiltered = filter::apply().err();
    let done = files.and_then(|(input, mut file)| {
        let (length, outcome) = work(order, &task, &reader(), input, &mut file)?;
        output::finish(&mut file, length, &Report { outcome, unfiltered })?;
        Ok(())
    });
    match done {
        Ok(()) => EXIT_DONE,
        Err(error) => {
            complain(&error.to_string());
            if error.get_ref().is_some_and(|inner| inner.is::<Bug>()) { EXIT_BUG } else { EXIT_DISK }
        }
    }
}

/// The task itself. An error is the disk's or ours; the file's faults are refusals.
fn work(
    order: &Order,
    task: &Task,
    reader: &impl Reader,
    input: File,
    file: &mut File,
) -> io::Result<(u64, Result<Summary, Refusal>)> {
    let pdf = match read(input, order.input)? {
        Ok(pdf) => pdf,
        Err(refusal) => return Ok((0, Err(refusal))),
    };
    let (length, outcome) = match task {
        Task::Inspect => inspect(pdf, reader, order, file)?,
        Task::Convert { mapping, pages } => convert(pdf, *mapping, *pages, reader, order, file)?,
    };
    if outcome.is_err() {
        file.set_len(0)?;
        return Ok((0, outcome));
    }
    Ok((length, outcome))
}

fn convert(
    pdf: Vec<u8>,
    mapping: Mapping,
    pages: Option<(u32, u32)>,
    reader: &impl Reader,
    order: &Order,
    file: &mut File,
) -> io::Result<(u64, Result<Summary, Refusal>)> {
    let document = match reader.read(pdf, pages.map(|(first, last)| first..=last)) {
        Ok(document) => document,
        Err(refusal) => return Ok((0, Err(refusal))),
    };
    let mut capped = Capped { file, left: order.output, full: false };
    let replaced = match write(mapping, &document, &mut capped) {
        Ok(replaced) => replaced,
        Err(_) if capped.full => return Ok((0, Err(too_large()))),
        Err(error) => return Err(error),
    };
    let length = order.output - capped.left;
    let summary = Summary {
        pages: Some(u32::try_from(document.pages.len()).unwrap_or(u32::MAX)),
        warnings: Warning::all_of(document.warnings, replaced),
    };
    drop(document);
    file.seek(SeekFrom::Start(0))?;
    let written = BufReader::with_capacity(64 * 1024, file.take(length));
    match verify(written, Limits { depth: DEPTH, bytes: length }) {
        Ok(_) => Ok((length, Ok(summary))),
        Err(verify::Fault::Io(error)) => Err(error),
        Err(fault @ (verify::Fault::Malformed(_) | verify::Fault::Refused(_))) => {
            Err(io::Error::other(Bug(fault)))
        }
    }
}

fn inspect(
    pdf: Vec<u8>,
    reader: &impl Reader,
    order: &Order,
    file: &mut File,
) -> io::Result<(u64, Result<Summary, Refusal>)> {
    let properties = match reader.inspect(pdf) {
        Ok(properties) => properties,
        Err(refusal) => return Ok((0, Err(refusal))),
    };
    let json = serde_json::to_vec(&properties)?;
    let mut capped = Capped { file, left: order.output, full: false };
    match capped.write_all(&json) {
        Ok(()) => {}
        Err(_) if capped.full => return Ok((0, Err(too_large()))),
        Err(error) => return Err(error),
    }
    Ok((json.len() as u64, Ok(Summary { pages: None, warnings: Vec::new() })))
}

/// The whole file, unless it is larger than allowed or than the memory.
fn read(mut input: File, limit: u64) -> io::Result<Result<Vec<u8>, Refusal>> {
    let length = input.seek(SeekFrom::End(0))?;
    if length > limit {
        return Ok(Err(refused("The file is larger than allowed.")));
    }
    let mut pdf = Vec::new();
    if pdf.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX)).is_err() {
        return Ok(Err(refused("The file takes too much memory.")));
    }
    input.seek(SeekFrom::Start(0))?;
    input.take(length).read_to_end(&mut pdf)?;
    Ok(Ok(pdf))
}

fn too_large() -> Refusal {
    refused("The result is larger than allowed.")
}

/// A file that takes so much and no more.
struct Capped<'a> {
    file: &'a mut File,
    left: u64,
    full: bool,
}

impl Write for Capped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.file.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Our own output was not what we promise.
#[derive(Debug, thiserror::Error)]
#[error("the output is no XML: {0}")]
struct Bug(#[source] verify::Fault);

/// A handle of our own on an open file.
fn own(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<File> {
    fd.try_clone_to_owned().map(File::from)
}

/// A panic's message can quote the document; its place cannot.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line()));
        complain(&format!("panic at {}", place.as_deref().unwrap_or("an unknown place")));
    }));
}

/// A line for the parent's log. Nobody can be told when even that fails.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
