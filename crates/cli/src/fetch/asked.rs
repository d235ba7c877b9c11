//! What is asked for, as a manifest that can be read more than once: the same command asks for the same thing.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use redrive_api::client::ClientError;
use redrive_blob::Sha256;
use redrive_fetch::{Format, Shape, id_of_url};
use serde::Serialize;
use sha2::Digest;

use super::list::{Lines, unmarked};
use super::wrong::Source;
use crate::exit::{Exit, Stop};

/// So much is read at once.
const PIECE: usize = 256 * 1024;
/// What a packed file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What the command line says about all resources.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Wish {
    /// Where objects go, where a server decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// Whose proxies are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_pool: Option<String>,
    /// What a mix of outcomes makes of the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_rule: Option<&'static str>,
}

impl Wish {
    fn is_empty(&self) -> bool {
        self.to.is_none() && self.proxy_pool.is_none() && self.end_rule.is_none()
    }
}

/// A manifest at hand.
#[derive(Debug)]
pub(crate) struct Asked {
    file: Arc<File>,
    pub(crate) shape: Shape,
    /// A hash of the hash of its bytes.
    pub(crate) sha256: Sha256,
    pub(super) source: Source,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    url: &'a str,
}

#[derive(Serialize)]
struct Head<'a> {
    manifest_version: u32,
    #[serde(flatten)]
    wish: &'a Wish,
}

impl Asked {
    /// These URLs, each once.
    pub(crate) fn urls(urls: &[String], wish: &Wish) -> Result<Self, Stop> {
        let mut file = tempfile::tempfile()?;
        let mut seen = HashSet::new();
        let above = head(&mut file, wish)?;
        for url in urls {
            // Each has its line, so that what is said about a line is about that argument.
            match seen.insert(url.as_str()) {
                true => line(&mut file, url)?,
                false => writeln!(file)?,
            }
        }
        Self::of(file, Shape { format: Format::Ndjson, gzip: false }, Source::Urls { above })
    }

    /// This file; `-` is stdin. A manifest as JSON or NDJSON, packed or not, or a plain list of URLs.
    pub(crate) fn manifest(path: &Path, wish: &Wish) -> Result<Self, Stop> {
        let about = |error: io::Error| {
            let exit = if error.kind() == io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Failed };
            Stop::new(exit, format!("cannot read {}: {error}", path.display()))
        };
        let mut file = if path == Path::new("-") {
            let mut spooled = tempfile::tempfile()?;
            io::copy(&mut io::stdin().lock(), &mut spooled).map_err(about)?;
            spooled.rewind()?;
            spooled
        } else {
            File::open(path).map_err(about)?
        };
        if file.metadata()?.len() == 0 {
            let text = format!("nothing was fetched: {} is empty", path.display());
            return Err(Stop::new(Exit::Usage, text));
        }
        let found = Found::sniff(&mut file).map_err(about)?;
        file.rewind()?;
        match found {
            Found::List => {
                let mut made = tempfile::tempfile()?;
                let above = head(&mut made, wish)?;
                let mut seen = HashSet::new();
                for url in Lines::of(file, path) {
                    let url = url?;
                    // What is no URL leaves an empty line: so what is said about a line is about the same line here.
                    if !url.is_empty() && !url.starts_with('#') && seen.insert(Sha256::of(url.as_bytes())) {
                        line(&mut made, &url)?;
                    } else {
                        writeln!(made)?;
                    }
                }
                Self::of(made, Shape { format: Format::Ndjson, gzip: false }, Source::List { above })
            }
            Found::Manifest(_) if !wish.is_empty() => {
                let text = "--to of a server, --proxy-pool and --tolerant are for URLs; a manifest says these things itself: to, proxy_pool, end_rule";
                Err(Stop::new(Exit::Usage, text))
            }
            Found::Manifest(shape) => Self::of(file, shape, Source::Manifest),
        }
    }

    fn of(mut file: File, shape: Shape, source: Source) -> Result<Self, Stop> {
        file.rewind()?;
        let (mut hash, mut piece, mut before) = (sha2::Sha256::new(), vec![0; PIECE], b'\n');
        loop {
            let read = file.read(&mut piece)?;
            let Some(piece) = piece.get(..read).filter(|piece| !piece.is_empty()) else { break };
            // Empty lines ask for nothing.
            let same = |byte: &u8| std::mem::replace(&mut before, *byte) != b'\n' || *byte != b'\n';
            hash.update(piece.iter().copied().filter(same).collect::<Vec<u8>>());
        }
        let hash = hash.finalize();
        Ok(Self { file: Arc::new(file), shape, sha256: Sha256::of(&hash), source })
    }

    /// Why a server did not take it.
    pub(crate) fn not_taken(&self, error: ClientError) -> Stop {
        self.source.not_taken(error)
    }

    /// Its bytes from the beginning.
    pub(crate) fn body(&self) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let file = self.file.clone();
        futures::stream::try_unfold((file, 0_u64), async |(file, at)| {
            let reading = tokio::task::spawn_blocking(move || {
                use std::os::unix::fs::FileExt;
                let mut piece = vec![0; PIECE];
                let read = file.read_at(&mut piece, at)?;
                piece.truncate(read);
                io::Result::Ok((file, piece))
            });
            let (file, piece) = reading.await.map_err(io::Error::other)??;
            let next = at + piece.len() as u64;
            Ok((!piece.is_empty()).then(|| (Bytes::from(piece), (file, next))))
        })
    }
}

/// What is wished, where something is: a manifest needs no head. Answers how many lines that takes.
fn head(file: &mut File, wish: &Wish) -> io::Result<u64> {
    if wish.is_empty() {
        return Ok(0);
    }
    let head = serde_json::to_string(&Head { manifest_version: 1, wish })?;
    writeln!(file, "{head}")?;
    Ok(1)
}

fn line(file: &mut File, url: &str) -> io::Result<()> {
    let line = serde_json::to_string(&Line { id: &id_of_url(url), url })?;
    writeln!(file, "{line}")
}

/// What a file turns out to be.
enum Found {
    Manifest(Shape),
    /// One URL a line.
    List,
}

impl Found {
    fn sniff(file: &mut File) -> io::Result<Self> {
        let mut start = Vec::new();
        Read::by_ref(file).take(PIECE as u64).read_to_end(&mut start)?;
        let gzip = start.starts_with(&GZIP);
        if gzip {
            let packed = std::mem::take(&mut start);
            // A piece of a packed file ends in the middle: what came out until then is enough.
            let _ = flate2::read::GzDecoder::new(&packed[..]).take(PIECE as u64).read_to_end(&mut start);
        }
        let text = String::from_utf8_lossy(&start);
        let first = unmarked(&text).lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if !gzip && !first.starts_with(['{', '[']) && !first.is_empty() {
            return Ok(Self::List);
        }
        // A document is one value over all its lines, or one line that holds its resources.
        let value: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(first).ok();
        let format = match value {
            Some(value) if !value.contains_key("resources") => Format::Ndjson,
            Some(_) | None => Format::Json,
        };
        Ok(Self::Manifest(Shape { format, gzip }))
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    fn asked(content: &[u8], wish: &Wish) -> Result<Asked, Stop> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        Asked::manifest(file.path(), wish)
    }

    async fn text(asked: &Asked) -> String {
        let pieces: Vec<Bytes> = asked.body().try_collect().await.unwrap();
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[tokio::test]
    async fn urls_and_lists_become_a_manifest_with_each_once() {
        let wish = Wish { proxy_pool: Some("eu".into()), ..Wish::default() };
        let urls = ["https://a.example/1", "https://a.example/2", "https://a.example/1"].map(str::to_owned);
        let from_urls = Asked::urls(&urls, &wish).unwrap();
        let list = "# mine\nhttps://a.example/1\r\n\n  https://a.example/2\nhttps://a.example/1\n";
        let from_list = asked(list.as_bytes(), &wish).unwrap();
        let expected = concat!(
            r#"{"manifest_version":1,"proxy_pool":"eu"}"#,
            "\n",
            r#"{"id":"https://a.example/1","url":"https://a.example/1"}"#,
            "\n",
            r#"{"id":"https://a.example/2","url":"https://a.example/2"}"#,
            "\n"
        );
        let listed = text(&from_list).await.replace("\n\n", "\n").replace("\n\n", "\n");
        let given = text(&from_urls).await.replace("\n\n", "\n");
        assert_eq!((given.as_str(), listed.as_str()), (expected, expected));
        assert_eq!(from_urls.sha256, from_list.sha256, "the same wish is the same batch");
    }

    #[tokio::test]
    async fn each_line_of_a_list_keeps_its_number() {
        let list = "# mine\nhttps://a.example/1\nhttps://a.example/1\n\nhttps://a.example/2\n";
        let made = text(&asked(list.as_bytes(), &Wish::default()).unwrap()).await;
        let lines: Vec<&str> = made.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2], lines[3]), (5, "", "", ""), "{made}");
        assert!(lines[1].contains("/1") && lines[4].contains("/2"), "{made}");
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        let empty = asked(b"", &Wish::default()).unwrap_err();
        assert!(empty.exit() == Exit::Usage && empty.message().contains("is empty"), "{empty:?}");
    }

    #[test]
    fn a_file_is_what_it_looks_like() {
        let packed = |content: &[u8]| {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(content).unwrap();
            gz.finish().unwrap()
        };
        let document = b"{\n \"manifest_version\": 1,\n \"resources\": []\n}";
        let one_line = br#"{"manifest_version":1,"resources":[{"id":"1","url":"u"}]}"#;
        let lines = b"\n{\"id\":\"1\",\"url\":\"u\"}\n{\"id\":\"2\",\"url\":\"u\"}\n";
        let headed = b"{\"manifest_version\":1}\n{\"id\":\"2\",\"url\":\"u\"}\n";
        for (content, format) in [
            (&document[..], Format::Json),
            (one_line, Format::Json),
            (lines, Format::Ndjson),
            (headed, Format::Ndjson),
        ] {
            let plain = asked(content, &Wish::default()).unwrap();
            assert_eq!(plain.shape, Shape { format, gzip: false }, "{}", String::from_utf8_lossy(content));
            let gzip = asked(&packed(content), &Wish::default()).unwrap();
            assert_eq!(gzip.shape, Shape { format, gzip: true });
        }
        let tolerant = Wish { end_rule: Some("tolerant"), ..Wish::default() };
        assert_eq!(asked(headed, &tolerant).unwrap_err().exit(), Exit::Usage, "the manifest says it itself");
    }

    #[test]
    fn a_file_that_is_not_there_is_said_so() {
        let gone = Asked::manifest(Path::new("/nowhere/m.json"), &Wish::default()).unwrap_err();
        assert_eq!(gone.exit(), Exit::NotFound);
    }
}
