//! Judges a manifest while it comes, and writes it down in one canonical form: a line with the head, then a line for each resource.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use redrive_engine::{BatchId, Code};

use super::entry::{Common, Entry};
use super::fields::{Fields, items};
use super::head::Head;
use super::problem::{ManifestProblem, ManifestProblems, Spot, Wrong};
use super::{ManifestOptions, manifest_key};

/// What a manifest is judged by, and what was found so far. Of ids it remembers keyed hashes of 64 bits.
pub(super) struct Judge<'a> {
    options: &'a ManifestOptions,
    batch: BatchId,
    about: Option<(Head, Common)>,
    hashes: RandomState,
    seen: HashSet<u64>,
    count: u32,
    problems: Vec<ManifestProblem>,
    hopeless: bool,
    out: Vec<u8>,
}

/// A manifest without a flaw.
pub(super) struct Judged {
    pub(super) head: Head,
    pub(super) common: Common,
    pub(super) count: u32,
}

impl<'a> Judge<'a> {
    pub(super) fn new(options: &'a ManifestOptions, batch: BatchId) -> Self {
        Self {
            options,
            batch,
            about: None,
            hashes: RandomState::new(),
            seen: HashSet::new(),
            count: 0,
            problems: Vec::new(),
            hopeless: false,
            out: Vec::new(),
        }
    }

    /// Whether reading on is of use.
    pub(super) fn goes_on(&self) -> bool {
        !self.hopeless && self.problems.len() < self.options.limits.problems
    }

    /// How many resources were judged.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// The canonical form of what was judged since the last call; nothing once there is a problem.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Nothing behind this can be read, if it was read that far.
    pub(super) fn end_with(&mut self, problem: ManifestProblem) {
        if self.goes_on() {
            self.problem(problem);
        }
        self.hopeless = true;
    }

    /// One line of NDJSON. The first one may be the head.
    pub(super) fn line(&mut self, number: u64, line: &[u8]) {
        let spot = Spot::Line(number);
        let line = if number == 1 { without_mark(line) } else { line };
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let limit = self.options.limits.line_bytes;
        if line.len() > limit {
            self.too_long(number);
            return;
        }
        let judged = utf8(line).and_then(|text| {
            if self.about.is_none() {
                match first_line(text)? {
                    Some(head) => return self.begin(head),
                    None => self.begin(Head::default())?,
                }
            }
            self.resource(text)
        });
        if let Err(wrong) = judged {
            self.problem(wrong.at(spot));
            // Lines behind a bad head are judged as if there were none.
            if self.about.is_none() {
                self.hopeless = self.begin(Head::default()).is_err();
            }
        }
    }

    /// A line that is longer than any may be.
    pub(super) fn too_long(&mut self, number: u64) {
        let reason = format!("is longer than {} bytes", self.options.limits.line_bytes);
        self.end_with(Wrong::new(Code::ValidationTooLarge, reason).at(Spot::Line(number)));
    }

    /// A whole JSON document.
    pub(super) fn document(&mut self, bytes: &[u8]) {
        if let Err(wrong) = self.whole(without_mark(bytes)) {
            self.end_with(wrong.at(Spot::Whole));
        }
    }

    fn whole(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        let mut fields = Fields::read(utf8(bytes)?)?;
        let head = Head::read(&mut fields)?;
        let missing = || Wrong::field(Code::ValidationMissingField, "resources", "is missing");
        let resources = fields.take("resources").ok_or_else(missing)?;
        fields.nothing_else()?;
        self.begin(head)?;
        let most = self.options.limits.json_resources;
        for (n, resource) in items("resources", resources, most)?.into_iter().enumerate() {
            if let Err(wrong) = self.resource(resource.get()) {
                self.problem(wrong.at(Spot::Resource(n)));
            }
            if !self.goes_on() {
                break;
            }
        }
        Ok(())
    }

    /// Now it is known what all resources share.
    fn begin(&mut self, head: Head) -> Result<(), Wrong> {
        if let Some(pool) = &head.proxy_pool
            && !self.options.pools.contains(pool)
        {
            let reason = "there is no pool of this name";
            return Err(Wrong::field(Code::ValidationInvalidField, "proxy_pool", reason));
        }
        let to = self.options.destinations.resolve(head.to.as_deref(), self.batch);
        let to = to.map_err(|reason| Wrong::field(Code::ValidationDestination, "to", reason))?;
        let common = Common {
            manifest_key: manifest_key(self.batch),
            place: to.place,
            bucket: to.bucket,
            prefix: to.prefix,
            shared: to.shared,
            proxy_pool: head.proxy_pool.clone(),
        };
        self.write(&head);
        self.about = Some((head, common));
        Ok(())
    }

    fn resource(&mut self, text: &str) -> Result<(), Wrong> {
        let Some((_, common)) = &self.about else { return Ok(()) };
        let most = self.options.limits.resources;
        if self.count >= most {
            self.hopeless = true;
            return Err(Wrong::new(
                Code::ValidationTooMany,
                format!("a manifest has at most {most} resources"),
            ));
        }
        let entry = Entry::read(text)?;
        if !self.seen.insert(self.hashes.hash_one(&entry.id)) {
            let reason = "another resource before it has the same";
            return Err(Wrong::field(Code::ValidationDuplicateId, "id", reason));
        }
        let resource = entry.resource(common);
        resource.check(&self.options.guard).map_err(|flaw| match flaw.field {
            "to" => Wrong::field(Code::ValidationDestination, flaw.field, flaw.reason),
            field => Wrong::field(Code::ValidationInvalidField, field, flaw.reason),
        })?;
        let entry = Entry::of(resource);
        let (bytes, most) = (entry.written(), self.options.limits.line_bytes);
        if bytes > most {
            // However it came, it goes out again as a line.
            let reason = format!("makes a resource of {bytes} bytes: at most {most} are allowed");
            return Err(Wrong::field(Code::ValidationTooLarge, entry.largest(), reason));
        }
        self.count += 1;
        self.write(&entry);
        Ok(())
    }

    fn write<T: serde::Serialize>(&mut self, line: &T) {
        if self.problems.is_empty() {
            // Memory takes everything, and what was read as JSON can be written as JSON.
            let _ = serde_json::to_writer(&mut self.out, line);
            self.out.push(b'\n');
        }
    }

    fn problem(&mut self, problem: ManifestProblem) {
        self.out.clear();
        self.problems.push(problem);
    }

    /// The end of the manifest.
    pub(super) fn end(mut self) -> Result<Judged, ManifestProblems> {
        if self.problems.is_empty() && self.count == 0 {
            let empty = "there is not a single resource";
            let empty = Wrong::field(Code::ValidationMissingField, "resources", empty);
            self.problems.push(empty.at(Spot::Whole));
        }
        match (self.about, self.problems.is_empty()) {
            (Some((head, common)), true) => Ok(Judged { head, common, count: self.count }),
            (_, _) => Err(ManifestProblems { problems: self.problems }),
        }
    }
}

/// The head, if the first line is one: it has a version and no id.
fn first_line(text: &str) -> Result<Option<Head>, Wrong> {
    let mut fields = Fields::read(text)?;
    if fields.has("id") || !fields.has("manifest_version") {
        return Ok(None);
    }
    if fields.has("resources") {
        let reason = "a document with all resources is application/json; in NDJSON each has its own line";
        return Err(Wrong::field(Code::ValidationUnknownField, "resources", reason));
    }
    let head = Head::read(&mut fields)?;
    fields.nothing_else()?;
    Ok(Some(head))
}

fn utf8(bytes: &[u8]) -> Result<&str, Wrong> {
    std::str::from_utf8(bytes).map_err(|error| {
        let reason = format!("is not valid UTF-8 after byte {}", error.valid_up_to());
        Wrong::new(Code::ValidationMalformed, reason)
    })
}

/// Some editors put a mark before everything.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}
