//! The ways in which something is made of a PDF: by a program of the user's, by the gateway in parts, by the gateway as a whole.

use redrive_blob::{Key, Sealed};
use redrive_engine::store::intake::DocumentRow;
use redrive_engine::{BatchId, Context, Failure};

use super::Intake;
use crate::command::Command;
use crate::input::Document;
use crate::parts::{Part, Progress};

/// How far a run came.
pub(super) enum Processed {
    /// To its end.
    Made(Made),
    /// Its parts are being made; it goes on when they are.
    Waits(BatchId),
}

/// What a run made, before anything of it has its name.
pub(super) struct Made {
    /// The files.
    pub(super) files: Vec<MadeFile>,
    /// Pages, where the gateway said.
    pub(super) pages: Option<u32>,
    /// What the gateway warned of.
    pub(super) warnings: Vec<String>,
}

/// One file that was made.
pub(super) struct MadeFile {
    /// What follows the document's name without its ending: `.xml`, or `/pages/1.png` for what lies in a folder of that name.
    pub(super) suffix: String,
    /// The file.
    pub(super) sealed: Sealed,
}

impl Made {
    /// One XML file.
    pub(super) fn xml(sealed: Sealed, pages: Option<u32>, warnings: Vec<String>) -> Self {
        Self { files: vec![MadeFile { suffix: ".xml".to_owned(), sealed }], pages, warnings }
    }
}

impl Intake {
    /// Makes something of the PDF, and checks on the way that it is the one it was.
    pub(super) async fn process(
        &self,
        ctx: &Context,
        input: &Document,
        document: &DocumentRow,
        pdf: &Key,
    ) -> Result<Processed, Failure> {
        if let Some(command) = &self.options.command {
            return self.by_command(command, ctx, document, pdf).await.map(Processed::Made);
        }
        let mapping = self.mapping().await?;
        if let Some(processed) = self.in_parts(ctx, input, document, pdf, &mapping).await? {
            return Ok(processed);
        }
        self.convert(ctx, document, pdf, &mapping).await.map(Processed::Made)
    }

    async fn by_command(
        &self,
        command: &Command,
        ctx: &Context,
        document: &DocumentRow,
        pdf: &Key,
    ) -> Result<Made, Failure> {
        let (outgoing, seen) = self.read(pdf).await?;
        let name = document.path.rsplit('/').next().unwrap_or(&document.path);
        let prepared = command.prepare(name, outgoing).await?;
        self.same(ctx, document, &seen).await?;
        let left = command.process(&prepared, &*self.mover.shelf.blobs()).await?;
        let files = left.into_iter().map(|left| MadeFile { suffix: left.suffix, sealed: left.sealed });
        Ok(Made { files: files.collect(), pages: None, warnings: Vec::new() })
    }

    /// Nothing, when the PDF is to go as a whole.
    async fn in_parts(
        &self,
        ctx: &Context,
        input: &Document,
        document: &DocumentRow,
        pdf: &Key,
        mapping: &str,
    ) -> Result<Option<Processed>, Failure> {
        if !self.cutter.is_worth(document.bytes, mapping) {
            return Ok(None);
        }
        match self.cutter.progress(ctx, mapping).await? {
            Progress::NotBegun => {}
            Progress::Running(batch) => return Ok(Some(Processed::Waits(batch))),
            Progress::Whole => return Ok(None),
            Progress::Joined(joined) => {
                let made = Made::xml(joined.sealed, Some(joined.pages), joined.warnings);
                return Ok(Some(Processed::Made(made)));
            }
        }
        let (outgoing, seen) = self.read(pdf).await?;
        let ranges = self.cutter.ranges(outgoing).await;
        self.same(ctx, document, &seen).await?;
        let (ranges, Some(sha256)) = (ranges?, seen.hash()) else { return Ok(None) };
        if ranges.is_empty() {
            return Ok(None);
        }
        let part = |range| Part {
            document: ctx.job(),
            attempt: ctx.attempt(),
            root: input.root.clone(),
            path: document.path.clone(),
            pdf: pdf.as_str().to_owned(),
            sha256: sha256.clone(),
            mapping: mapping.to_owned(),
            range,
            targets: input.targets.clone(),
        };
        let parts: Vec<Part> = ranges.into_iter().map(part).collect();
        self.cutter.begin(ctx, mapping, &parts).await.map(|batch| Some(Processed::Waits(batch)))
    }
}
