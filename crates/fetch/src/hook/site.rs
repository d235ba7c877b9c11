//! Where hooks are called, and what becomes of what they say.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::BoxFuture;
use redrive_blob::{Key, Sealed};
use redrive_engine::model::Owner;
use redrive_engine::model::text::one_line_chars;
use redrive_engine::{Code, Context, Failure, Target};

use super::{Candidate, Hook, HookError, ResourceView, Verdict};
use crate::download::Head;
use crate::input::{MAX_PAIRS, Resource};
use crate::key::below;

/// Tags travel with the job's row: all of them together have at most so many bytes.
const MAX_TAG_BYTES: usize = 4_096;
/// So much of a reason is told.
const MAX_REASON_CHARS: usize = 200;

/// Where the object goes and what is said about it, as far as hooks were asked.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) key: Key,
    pub(crate) tags: BTreeMap<String, String>,
    /// Whose resource it is, where there is somebody to be told.
    owner: Option<Owner>,
}

impl Asked {
    /// Asks before the download.
    pub(crate) async fn before(
        hook: Option<&dyn Hook>,
        ctx: &Context,
        resource: &Resource,
    ) -> Result<Self, Failure> {
        let key = resource.key().map_err(|error| Failure::new(Code::ValidationInvalidField, error))?;
        let asked = Self { key, tags: BTreeMap::new(), owner: None };
        let Some(hook) = hook else { return Ok(asked) };
        let asked = Self { owner: ctx.whose().await?, ..asked };
        let about = asked.about(ctx, resource);
        let verdict = verdict(ctx, "before", hook.before(&about)).await?;
        asked.follow(ctx, "before", resource, verdict)
    }

    /// Asks when the bytes are here, before they get their name.
    pub(crate) async fn after(
        self,
        hook: Option<&dyn Hook>,
        ctx: &Context,
        resource: &Resource,
        sealed: &Sealed,
        head: &Head,
    ) -> Result<Self, Failure> {
        let Some(hook) = hook else { return Ok(self) };
        let about = self.about(ctx, resource);
        let bytes = Candidate { sealed, content_type: head.content_type.as_deref(), status: head.status };
        let verdict = verdict(ctx, "after", hook.after(&about, &bytes)).await?;
        self.follow(ctx, "after", resource, verdict)
    }

    /// Does what the verdict says, within what is safe.
    fn follow(
        mut self,
        ctx: &Context,
        phase: &str,
        resource: &Resource,
        verdict: Verdict,
    ) -> Result<Self, Failure> {
        if let Some(why) = verdict.refuse {
            let why = one_line_chars(&why, MAX_REASON_CHARS);
            return Err(failure(
                ctx,
                phase,
                Code::HandlerRefused,
                format_args!("the handler refused it: {why}"),
            ));
        }
        let bad = |text: String| failure(ctx, phase, Code::HandlerFailed, text);
        if let Some(name) = verdict.name {
            let key = below(&resource.prefix, &name);
            let name = one_line_chars(&name, 80);
            self.key = key.map_err(|error| bad(format!("the handler chose the name {name:?}: {error}")))?;
        }
        self.tags.extend(verdict.tags);
        let bytes: usize = self.tags.iter().map(|(name, value)| name.len() + value.len()).sum();
        if self.tags.len() > MAX_PAIRS || bytes > MAX_TAG_BYTES || self.tags.keys().any(String::is_empty) {
            let text = format!(
                "the handler gave {} tags of {bytes} bytes: at most {MAX_PAIRS} of {MAX_TAG_BYTES} bytes together, each with a name",
                self.tags.len()
            );
            return Err(bad(text));
        }
        Ok(self)
    }

    fn about<'a>(&'a self, ctx: &Context, resource: &'a Resource) -> ResourceView<'a> {
        ResourceView {
            job: ctx.job(),
            attempt: ctx.attempt(),
            owner: self.owner.as_ref(),
            manifest_key: &resource.manifest,
            id: &resource.id,
            url: &resource.url,
            tags: &resource.tags,
        }
    }
}

/// Waits for what the hook says, or for the end of the attempt. A panic is its failure, not ours.
async fn verdict(
    ctx: &Context,
    phase: &str,
    asked: BoxFuture<'_, Result<Verdict, HookError>>,
) -> Result<Verdict, Failure> {
    let said = tokio::select! {
        biased;
        () = ctx.cancelled() => return Err(failure(ctx, phase, Code::Unknown, "the attempt was told to end")),
        said = AssertUnwindSafe(asked).catch_unwind() => said,
    };
    match said {
        Ok(Ok(verdict)) => Ok(verdict),
        Ok(Err(HookError::Place(error))) => Err(ours(ctx, phase, error.code(), HookError::Place(error))),
        Ok(Err(error @ HookError::Exhausted(_))) => Err(ours(ctx, phase, Code::MemoryError, error)),
        Ok(Err(error @ HookError::Failed(_))) => Err(failure(ctx, phase, Code::HandlerFailed, error)),
        Ok(Err(error @ HookError::TimedOut(_))) => Err(failure(ctx, phase, Code::HandlerTimeout, error)),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text =
                text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
            Err(failure(ctx, phase, Code::HandlerFailed, format_args!("the handler panicked: {text}")))
        }
    }
}

/// The fault of our own machine, and not of the handler, the origin or the job.
fn ours(ctx: &Context, phase: &str, code: Code, message: impl std::fmt::Display) -> Failure {
    let failure = failure(ctx, phase, code, message);
    match Target::new("disk") {
        Ok(disk) => failure.at(disk),
        Err(_) => failure,
    }
}

fn failure(ctx: &Context, phase: &str, code: Code, message: impl std::fmt::Display) -> Failure {
    Failure::new(code, message).with("attempt", ctx.attempt()).with("handler", phase)
}
