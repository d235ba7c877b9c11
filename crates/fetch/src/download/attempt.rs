//! One attempt: what an earlier one left, the question, the bytes, one mending, the checks.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;
use redrive_blob::{BlobError, Blobs, Sealed, Upload};
use redrive_engine::Target;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::body::{Receiving, stopped};
use super::head::{Head, Part, strong_etag};
use super::hops::{Answered, Rest, drain, status};
use super::note::{Note, Notes};
use super::trouble::{Suspect, Trouble};
use super::{Ask, Downloads, Inner};
use crate::guard::Checked;
use crate::proxy::Member;

/// A deadline that is none.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// A whole resource that has no name yet.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) sealed: Sealed,
    pub(crate) head: Head,
    /// Who had it; nobody when an earlier attempt has asked.
    pub(crate) by: Option<Checked>,
    /// Through whom, as people call it.
    pub(crate) proxy: Option<String>,
}

/// A download that came to nothing, and what of it can be gone on with.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) trouble: Trouble,
    /// Where it happened, when there was a URL to ask.
    pub(crate) at: Option<Checked>,
    pub(crate) note: Option<Note>,
    /// Through whom, as people call it.
    pub(crate) proxy: Option<String>,
}

/// What the next question is for.
#[derive(Default)]
struct Got {
    upload: Option<Upload>,
    head: Head,
    /// Some of it came in another answer than the rest.
    patched: bool,
}

impl Downloads {
    /// Fetches a resource into an upload of this place.
    pub(crate) async fn fetch(
        &self,
        ask: &Ask<'_>,
        place: &dyn Blobs,
        note: Option<Note>,
        notes: &dyn Notes,
        stop: &CancellationToken,
    ) -> Result<Fetched, Broken> {
        let inner = &*self.0;
        let mut stop = pin!(stop.cancelled());
        let now = Instant::now();
        let until = now.checked_add(inner.options.deadline).unwrap_or(now + FOR_EVER);
        let failed = |trouble| Broken { trouble, at: None, note: None, proxy: None };
        let mut got = inner.resume(place, note.as_ref()).await.map_err(failed)?;
        if note.is_some_and(|note| note.whole)
            && let Some(mut upload) = got.upload.take()
        {
            // The note stays true until it has its name.
            upload.mark().await.map_err(|error| failed(Trouble::Store(error)))?;
            let sealed = upload.seal().await.map_err(|error| failed(Trouble::Store(error)))?;
            return Ok(Fetched { sealed, head: got.head, by: None, proxy: None });
        }
        let via = match inner.via(ask) {
            Ok(via) => via,
            Err(trouble) => return Err(Broken { note: inner.keep(&trouble, got).await, ..failed(trouble) }),
        };
        let attempt = Attempt { inner, ask, via: via.as_deref(), place, notes, until };
        let mut run = attempt.run(&mut got, stop.as_mut()).await;
        if let Some(member) = &via {
            blame(member, &run);
            run = run.map_err(|(trouble, at)| (inner.doubted(member, trouble, at.as_ref()), at));
        }
        let ended = match run {
            Ok(by) => attempt.seal(got, by).await,
            Err((trouble, at)) => {
                Err(Broken { note: inner.keep(&trouble, got).await, at, ..failed(trouble) })
            }
        };
        let proxy = via.map(|member| member.name.clone());
        match ended {
            Ok(fetched) => Ok(Fetched { proxy, ..fetched }),
            Err(broken) => Err(Broken { proxy, ..broken }),
        }
    }
}

/// What an attempt says about the proxy that it went through.
fn blame(member: &Member, run: &Result<Checked, (Trouble, Option<Checked>)>) {
    let (suspect, at) = match run {
        Ok(by) => (Suspect::Origin, Some(by)),
        Err((trouble, at)) => (trouble.suspect(), at.as_ref()),
    };
    match (suspect, at.and_then(Checked::target)) {
        (Suspect::Proxy, _) => member.failed(),
        (Suspect::Pair, Some(host)) => {
            member.unreached(&host);
            if matches!(run, Err((Trouble::Tls(_), _))) {
                member.not_trusted(&host);
            }
        }
        (Suspect::Origin, host) => member.worked(host.as_ref()),
        (Suspect::Nobody, _) | (Suspect::Pair, None) => member.unheard(),
    }
}

impl Inner {
    /// The proxy of this attempt, where one is asked for.
    fn via(&self, ask: &Ask<'_>) -> Result<Option<Arc<Member>>, Trouble> {
        let Some((pool, turn)) = ask.pool else { return Ok(None) };
        let host = self.guard.parse(ask.url).ok().and_then(|url| url.target());
        match self.options.pools.pick(pool, host.as_ref(), turn) {
            Some(Ok(member)) => Ok(Some(member)),
            Some(Err(exhausted)) => Err(Trouble::Exhausted(exhausted.wait)),
            None => Err(Trouble::Invalid(format!("no proxy pool is called {pool:?} here"))),
        }
    }

    /// A certificate that came through a proxy is the origin's own when another proxy brings one that is no better.
    fn doubted(&self, member: &Member, trouble: Trouble, at: Option<&Checked>) -> Trouble {
        let repeated = |host: Target| self.options.pools.not_trusted_by_another(member, &host);
        match trouble {
            Trouble::Tls(error) if !at.and_then(Checked::target).is_some_and(repeated) => {
                Trouble::ProxyTls(error)
            }
            trouble => trouble,
        }
    }

    /// What an earlier attempt left, if it is still there.
    async fn resume(&self, place: &dyn Blobs, note: Option<&Note>) -> Result<Got, Trouble> {
        let Some(note) = note.filter(|note| note.whole || note.head.etag.is_some()) else {
            return Ok(Got::default());
        };
        let upload = place.resume(&note.mark, self.options.max_bytes).await.map_err(Trouble::Store)?;
        Ok(match upload {
            Some(upload) => Got { upload: Some(upload), head: note.head.clone(), patched: false },
            None => Got::default(),
        })
    }

    /// Keeps what came for the next attempt, when that can go on with it and it is worth it.
    async fn keep(&self, trouble: &Trouble, got: Got) -> Option<Note> {
        let mut upload = got.upload?;
        if got.head.etag.is_none() || upload.bytes() < self.options.keep_from.max(1) || !trouble.keeps() {
            upload.unmark();
            return None;
        }
        let mark = upload.mark().await.ok()?;
        Some(Note { mark, head: got.head, whole: false })
    }
}

struct Attempt<'a> {
    inner: &'a Inner,
    ask: &'a Ask<'a>,
    via: Option<&'a Member>,
    place: &'a dyn Blobs,
    notes: &'a dyn Notes,
    until: Instant,
}

impl Attempt<'_> {
    /// Asks until everything is there: once, and once more when the connection broke or when what came before does not fit to
    /// what is there now.
    async fn run(
        &self,
        got: &mut Got,
        mut stop: Pin<&mut WaitForCancellationFuture<'_>>,
    ) -> Result<Checked, (Trouble, Option<Checked>)> {
        let (mut mended, mut anew) = (false, false);
        loop {
            let rest = got.upload.as_ref().zip(got.head.etag.as_deref());
            let rest =
                rest.map(|(upload, etag)| Rest { from: upload.bytes(), etag }).filter(|rest| rest.from > 0);
            let asked = rest.map(|rest| rest.from);
            let answered = tokio::select! {
                biased;
                answered = self.inner.ask(self.ask, self.via, rest, self.until) => answered,
                () = &mut stop => return Err((stopped(), None)),
            };
            let (trouble, at) = match answered {
                Ok(Answered { response, by }) => {
                    let took = self.take(response, asked, got, stop.as_mut()).await;
                    match took {
                        Ok(Took::Whole) => return Ok(by),
                        Ok(Took::Misfit) if !anew => {
                            anew = true;
                            got.forget();
                            continue;
                        }
                        Ok(Took::Misfit) => (Trouble::BadAnswer("a range that was not asked for"), Some(by)),
                        Err(trouble) => (trouble, Some(by)),
                    }
                }
                Err(failed) => failed,
            };
            let goes_on =
                got.upload.as_ref().is_none_or(|upload| upload.bytes() == 0 || got.head.etag.is_some());
            if mended || !trouble.is_broken_wire() || !goes_on {
                return Err((trouble, at));
            }
            mended = true;
        }
    }

    /// Takes in one answer.
    async fn take(
        &self,
        response: Response<Incoming>,
        asked: Option<u64>,
        got: &mut Got,
        stop: Pin<&mut WaitForCancellationFuture<'_>>,
    ) -> Result<Took, Trouble> {
        let code = response.status().as_u16();
        let coming = match (code, asked) {
            (200 | 203, _) => {
                got.forget();
                got.head = Head::of(code, response.headers());
                got.head.total
            }
            (206, Some(from)) => match self.fits(&response, from, got) {
                Some(part) => {
                    got.patched = true;
                    got.head.total = got.head.total.or(part.total);
                    Some(part.last - part.first + 1)
                }
                None => return Ok(Took::Misfit),
            },
            (416, Some(_)) => {
                drain(response).await;
                return Ok(Took::Misfit);
            }
            _ => {
                let trouble = status(&response);
                drain(response).await;
                return Err(trouble);
            }
        };
        let most = self.inner.options.max_bytes;
        if got.head.total.is_some_and(|total| total > most) {
            return Err(Trouble::TooLarge(most));
        }
        if got.upload.is_none() {
            got.upload = Some(self.place.begin(most).await.map_err(Trouble::Store)?);
        }
        let Some(upload) = &mut got.upload else { return Ok(Took::Misfit) };
        let receiving =
            Receiving { inner: self.inner, head: &got.head, notes: self.notes, until: self.until, coming };
        receiving.receive(&mut response.into_body(), upload, stop).await?;
        Ok(Took::Whole)
    }

    /// Whether a part begins where we stopped, and is of the same thing: a server may ignore `If-Range`. Where nobody says how large
    /// that is, a part cannot be known to be the rest.
    fn fits(&self, response: &Response<Incoming>, from: u64, got: &Got) -> Option<Part> {
        let part = Part::of(response.headers())?;
        let total = got.head.total.or(part.total)?;
        let same_size = part.total.is_none_or(|told| told == total);
        let same = strong_etag(response.headers()).is_none_or(|etag| Some(etag) == got.head.etag);
        let encoding = Head::of(206, response.headers()).content_encoding;
        (part.first == from && same_size && same && encoding == got.head.content_encoding).then_some(part)
    }

    /// Checks the whole.
    async fn seal(&self, got: Got, by: Checked) -> Result<Fetched, Broken> {
        let failed = |trouble, at| Broken { trouble, at, note: None, proxy: None };
        let Some(mut upload) = got.upload else {
            return Err(failed(Trouble::BadAnswer("nothing came"), Some(by)));
        };
        // Whatever was noted on the way: what is refused from here on is of no use to anybody.
        upload.unmark();
        self.note_whole(&mut upload, &got.head).await.map_err(|error| failed(Trouble::Store(error), None))?;
        let sealed = upload.seal().await.map_err(|error| failed(Trouble::Store(error), None))?;
        match self.ask.sha256 {
            Some(wanted) if wanted != sealed.sha256() && got.patched => {
                Err(failed(Trouble::Misfit, Some(by)))
            }
            Some(wanted) if wanted != sealed.sha256() => {
                Err(failed(Trouble::Checksum(sealed.sha256()), Some(by)))
            }
            Some(_) | None => Ok(Fetched { sealed, head: got.head, by: Some(by), proxy: None }),
        }
    }

    /// Keeps a large body before it is stored: whoever is stopped while that goes on has it for the next attempt. Small ones are
    /// sooner fetched again than noted.
    async fn note_whole(&self, upload: &mut Upload, head: &Head) -> Result<(), BlobError> {
        if upload.bytes() < self.inner.options.keep_from || upload.is_in_memory() {
            return Ok(());
        }
        let mark = upload.mark().await?;
        let wanted = self.ask.sha256.is_none_or(|wanted| wanted == mark.sha256());
        let note = Note { mark, head: head.clone(), whole: true };
        // Without the note a stop costs a download and nothing else: no reason to end here.
        if !wanted || self.notes.note(&note).await.is_err() {
            upload.unmark();
        }
        Ok(())
    }
}

/// What an answer came to.
enum Took {
    Whole,
    /// It does not fit to what is there: everything has to come again.
    Misfit,
}

impl Got {
    /// Nothing of it is of use any more.
    fn forget(&mut self) {
        if let Some(upload) = &mut self.upload {
            upload.unmark();
        }
        *self = Self::default();
    }
}
