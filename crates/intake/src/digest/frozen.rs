//! What a mail job remembers between its tries: the letter as it was first written, what it tells, and who has it already.
//!
//! A try after a crash sends the same letter under the same key, so that a mailbox that gets both can tell that they are one. What came
//! meanwhile is not in it and does not count as told.

use redrive_engine::model::{JobId, instant};
use redrive_engine::store::intake::{Told, ToldNow};
use redrive_engine::{Context, Failure, Timestamp};
use redrive_notify::digest::Letter;
use serde::{Deserialize, Serialize};

use super::facts::Gathered;

/// The execution state of a mail job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// A retry by hand begins anew: others may have told it since.
    generation: u32,
    /// Which mail of this job, from 0: an owner with very many documents gets several.
    pub(super) part: u32,
    /// The letter that is on its way.
    pub(super) frozen: Option<Frozen>,
}

/// A letter that is on its way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Frozen {
    /// When it was written, in milliseconds.
    made: i64,
    subject: String,
    text: String,
    html: String,
    /// Document, what is told about it, up to when.
    told: Vec<(String, String, i64)>,
    /// There may be more than is told here.
    pub(super) more: bool,
    /// Who has it.
    #[serde(default)]
    pub(super) got: Vec<String>,
}

impl Progress {
    /// What was saved by an earlier try of this generation.
    pub(super) fn of(ctx: &Context) -> Result<Self, Failure> {
        let saved = ctx.state::<Self>()?.filter(|saved| saved.generation == ctx.generation());
        Ok(saved.unwrap_or_else(|| Self { generation: ctx.generation(), ..Self::default() }))
    }

    /// The same for every try: which mail this is.
    pub(super) fn key(&self, ctx: &Context) -> String {
        match self.part {
            0 => ctx.idempotency_key(),
            part => format!("{}-{}", ctx.idempotency_key(), part + 1),
        }
    }

    /// The next mail of the same job.
    pub(super) fn next(&self) -> Self {
        Self { generation: self.generation, part: self.part + 1, frozen: None }
    }
}

impl Frozen {
    pub(super) fn new(gathered: Gathered, made: Timestamp) -> Self {
        let told = |told: ToldNow| {
            (told.document.to_string(), told.told.as_str().to_owned(), instant::to_millis(told.upto))
        };
        let Letter { subject, text, html } = gathered.letter;
        Self {
            made: instant::to_millis(made),
            subject,
            text,
            html,
            told: gathered.told.into_iter().map(told).collect(),
            more: gathered.more,
            got: Vec::new(),
        }
    }

    pub(super) fn made(&self) -> Timestamp {
        instant::from_millis(self.made)
    }

    pub(super) fn letter(&self) -> Letter {
        Letter { subject: self.subject.clone(), text: self.text.clone(), html: self.html.clone() }
    }

    pub(super) fn told(&self) -> Vec<ToldNow> {
        let read = |(document, told, upto): &(String, String, i64)| {
            Some(ToldNow {
                document: document.parse::<JobId>().ok()?,
                told: Told::parse(told)?,
                upto: instant::from_millis(*upto),
            })
        };
        self.told.iter().filter_map(read).collect()
    }

    pub(super) fn documents(&self) -> u64 {
        self.told.len() as u64
    }
}
