//! The child of the tests: its "PDF" is a script of one line that says how to behave.

#![expect(clippy::panic, clippy::indexing_slicing, reason = "it misbehaves on purpose")]

use std::hint::black_box;
use std::io::Write;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use redrive_gateway::cage::{Cage, Settings, Task, maybe_child, stopper};
use redrive_gateway::convert::{Reader, Refusal, RefusalCode};
use redrive_gateway::page::{Block, Document, Line, Page, Rect, Role, Word};
use redrive_gateway::write::Mapping;

fn main() -> std::process::ExitCode {
    maybe_child(std::env::args_os(), || Script).unwrap_or_else(parent).into()
}

/// Without the hidden argument it is a parent: `time N` measures N children, `serve PORT` is a gateway, anything else is one
/// child whose file is the standard input.
fn parent() -> u8 {
    if let Some(port) = std::env::args().skip_while(|arg| arg != "serve").nth(1) {
        return u8::from(serve(port.parse().unwrap_or(0)).is_err());
    }
    if let Some(count) = std::env::args().skip_while(|arg| arg != "time").nth(1) {
        return time(count.parse().unwrap_or(100));
    }
    let Ok(pdf) = std::io::stdin().as_fd().try_clone_to_owned() else { return 2 };
    let Ok((_keep, stopped)) = stopper() else { return 2 };
    let task = Task::Convert { mapping: Mapping::Text, pages: None };
    u8::from(Cage::new(Settings::default()).run(&pdf.into(), &task, &stopped).is_err())
}

fn serve(port: u16) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
        let settings = redrive_gateway::http::Settings::default();
        redrive_gateway::http::serve(listener, settings, std::future::pending()).await
    })
}

/// How long it takes from a file to its result when reading costs nothing: start, limits, filter, output, end.
#[expect(clippy::print_stdout, reason = "what it measures is what it says")]
fn time(count: usize) -> u8 {
    let Ok(mut pdf) = tempfile::tempfile() else { return 2 };
    let Ok(()) = pdf.write_all(b"%PDF-say hello world") else { return 2 };
    let Ok((_keep, stopped)) = stopper() else { return 2 };
    let task = Task::Convert { mapping: Mapping::Text, pages: None };
    let cage = Cage::new(Settings::default());
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..count.max(1) {
        let start = Instant::now();
        if cage.run(&pdf, &task, &stopped).is_err() {
            return 1;
        }
        times.push(start.elapsed());
    }
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!("{count} children: median {:?}, 95 % {:?}, longest {:?}", at(50), at(95), at(100));
    0
}

struct Script;

impl Reader for Script {
    type Properties = serde_json::Value;

    fn read(&self, pdf: Vec<u8>, pages: Option<RangeInclusive<u32>>) -> Result<Document, Refusal> {
        let script = String::from_utf8_lossy(&pdf);
        let Some((_, script)) = script.split_once("%PDF-") else {
            return Err(Refusal::new(RefusalCode::InvalidPdf, "This is not a PDF."));
        };
        let (command, rest) = script.trim_end().split_once(' ').unwrap_or((script.trim_end(), ""));
        match command {
            "say" => Ok(document(rest.split(' '), pages)),
            "warn" => {
                let mut document = document(["\u{1}"].into_iter(), pages);
                document.warnings.no_text_layer = true;
                document.warnings.repaired = true;
                document.warnings.unmapped_glyphs = 7;
                document.warnings.unreadable_pages = 1;
                Ok(document)
            }
            "refuse" => Err(Refusal::new(
                match rest {
                    "password" => RefusalCode::PasswordRequired,
                    "encryption" => RefusalCode::UnsupportedEncryption,
                    "pages" => RefusalCode::TooManyPages,
                    "limit" => RefusalCode::LimitExceeded,
                    _ => RefusalCode::InvalidPdf,
                },
                "So it says.\u{1b}[31m\nSecond line",
            )),
            "loop" => {
                let mut n = 0_u64;
                loop {
                    n = black_box(n.wrapping_add(1));
                }
            }
            "stack" => Err(Refusal::new(RefusalCode::InvalidPdf, deeper(black_box(0)).to_string())),
            "memory" => {
                let mut all: Vec<Vec<u8>> = Vec::new();
                loop {
                    all.push(vec![1; 1 << 20]);
                    black_box(&all);
                }
            }
            "panic" => panic!("{rest}"),
            "abort" => std::process::abort(),
            "exit" => std::process::exit(3),
            "sleep" => {
                std::thread::sleep(Duration::from_secs(3600));
                Ok(Document::default())
            }
            "flood" => Ok(flood()),
            "big" => Ok(big()),
            "try" => Err(Refusal::new(RefusalCode::InvalidPdf, attempt(rest))),
            // A real PDF, such as the one of the health check.
            _ => Ok(document(["ok"].into_iter(), pages)),
        }
    }

    fn inspect(&self, pdf: Vec<u8>) -> Result<serde_json::Value, Refusal> {
        let pages = self.read(pdf, None)?.page_count;
        Ok(serde_json::json!({ "version": "1.7", "pages": pages, "encrypted": false }))
    }
}

/// Ten pages, each with the same words.
fn document<'a>(words: impl Iterator<Item = &'a str>, pages: Option<RangeInclusive<u32>>) -> Document {
    let mut page = Page { number: 1, width: 100.0, height: 100.0, ..Page::default() };
    let bounds = Rect { x0: 0.0, y0: 0.0, x1: 10.0, y1: 10.0 };
    let words = words.map(|word| {
        let start = page.text.len() as u32;
        page.text.push_str(word);
        Word { text: start..page.text.len() as u32, bounds, font: 0, size: 10.0 }
    });
    let line = Line { bounds, baseline: 8.0, direction: Default::default(), words: words.collect() };
    page.blocks.push(Block { bounds, role: Role::Paragraph, tagged: false, lines: vec![line] });
    let pages = (1..=10_u32).filter(|number| pages.as_ref().is_none_or(|pages| pages.contains(number)));
    let pages = pages.map(|number| Page { number, ..page.clone() }).collect();
    Document { page_count: 10, pages, ..Document::default() }
}

/// Little memory, much output.
fn flood() -> Document {
    let text = "x".repeat(1 << 20);
    let end = text.len() as u32;
    let mut document = document(std::iter::empty(), Some(1..=1));
    let page = &mut document.pages[0];
    page.text = text;
    let bounds = Rect::default();
    page.blocks[0].lines[0].words = vec![Word { text: 0..end, bounds, font: 0, size: 1.0 }; 100_000];
    document
}

/// Five million glyphs on a thousand pages.
fn big() -> Document {
    let words: Vec<&str> = std::iter::repeat_n("glyph", 1000).collect();
    let one = document(words.into_iter(), Some(1..=1));
    let pages =
        (1..=1000).flat_map(|number| one.pages.iter().map(move |page| Page { number, ..page.clone() }));
    Document { page_count: 1000, pages: pages.collect(), ..Document::default() }
}

#[expect(unconditional_recursion, reason = "that is the point")]
fn deeper(n: u64) -> u64 {
    let frame = black_box([n; 64]);
    deeper(n + 1) + frame[1]
}

/// Tries what a caged process must not do, and says what came of it.
fn attempt(what: &str) -> String {
    let result = match what.split_once(' ').unwrap_or((what, "")) {
        ("connect", address) => std::net::TcpStream::connect(address).map(|_| ()),
        ("listen", _) => std::net::TcpListener::bind("127.0.0.1:0").map(|_| ()),
        ("open", path) => std::fs::File::open(path).map(|_| ()),
        ("create", path) => std::fs::File::create(path).map(|_| ()),
        ("exec", path) => std::process::Command::new(path).spawn().map(|_| ()),
        ("thread", _) => std::thread::Builder::new().spawn(|| ()).map(|_| ()),
        ("environment", _) => {
            return format!("{} variables", std::env::vars_os().count());
        }
        _ => Ok(()),
    };
    match result {
        Ok(()) => "allowed".into(),
        Err(error) => format!("{:?}", error.kind()),
    }
}
