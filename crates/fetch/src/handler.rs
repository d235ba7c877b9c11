//! One attempt: a resource becomes an object, or a failure with a name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use redrive_blob::{BlobError, Blobs, Key, Sealed, Stored};
use redrive_engine::model::failure::{Budget, Class};
use redrive_engine::{Code, Context, Done, Failure, Policy, Target, Workload};

use crate::download::{Ask, Broken, Downloads, Fetched, Note, Notes};
use crate::failure;
use crate::guard::Checked;
use crate::hook::{Asked, Hook};
use crate::input::Resource;
use crate::key::beside;
use crate::made::Made;
use crate::polite::Politeness;

/// Beyond the deadline of a download: for the place to take it.
const STORING: Duration = Duration::from_secs(15 * 60);

/// The kind of targets that are asked politely. A place takes whatever comes.
const HOST: &str = "host";

/// A proxy that does not work is another one's turn, so often. Neither of the other budgets is touched.
const PROXY_RETRIES: u32 = 10;

/// How downloads are run.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// What is done when one fails; see [`FetchOptions::policy`].
    pub policy: Policy,
    /// So many at once in this process.
    pub concurrency: usize,
    /// So many at once at most to one host. Each begins with fewer and gets more while it answers well.
    pub per_host: usize,
}

impl FetchOptions {
    /// The usual policy with these limits: `DOWNLOAD_RETRY_LIMIT` and `STORAGE_RETRY_LIMIT`, each a budget of its own.
    #[must_use]
    pub fn policy(downloads: &Downloads, download_retries: u32, storage_retries: u32) -> Policy {
        let budgets = [
            (Budget::Download, download_retries),
            (Budget::Storage, storage_retries),
            (Budget::Proxy, PROXY_RETRIES),
        ];
        let attempt_timeout = downloads.options().deadline.saturating_add(STORING);
        Policy { attempt_timeout, ..Policy::reliability().with_budgets(budgets) }
    }
}

/// Somewhere to put objects.
#[derive(Debug, Clone)]
pub struct Place {
    /// The place itself.
    pub blobs: Arc<dyn Blobs>,
    /// What is blamed when it fails: `bucket:NAME`, or `disk`.
    pub target: Target,
}

/// Where objects may go.
#[derive(Debug, Clone)]
pub struct Places {
    /// `FETCH_TO`.
    pub usual: Place,
    /// Others that an operator listed, by the name that resources carry.
    pub listed: BTreeMap<String, Place>,
}

/// The workload. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Fetch {
    downloads: Downloads,
    places: Arc<Places>,
    polite: Arc<Politeness>,
    options: Arc<FetchOptions>,
    hook: Option<Arc<dyn Hook>>,
}

impl Fetch {
    /// Downloads by this client into these places.
    #[must_use]
    pub fn new(downloads: Downloads, places: Places, options: FetchOptions) -> Self {
        let polite = Arc::new(Politeness::new(options.per_host));
        Self { downloads, places: Arc::new(places), polite, options: Arc::new(options), hook: None }
    }

    /// Asks this hook about every resource, before it is fetched and before its bytes get their name.
    #[must_use]
    pub fn with_hook(self, hook: Arc<dyn Hook>) -> Self {
        Self { hook: Some(hook), ..self }
    }

    fn place(&self, resource: &Resource) -> Result<&Place, Failure> {
        match &resource.place {
            None => Ok(&self.places.usual),
            Some(name) => self.places.listed.get(name).ok_or_else(|| {
                Failure::new(Code::ValidationDestination, format!("no place is called {name:?} here"))
            }),
        }
    }

    async fn fetch(&self, ctx: &Context, resource: &Resource, seen: &mut Seen) -> Result<Made, Failure> {
        let place = self.place(resource)?;
        let asked = Asked::before(self.hook.as_deref(), ctx, resource).await?;
        let headers: Vec<(String, String)> = resource.headers.clone().into_iter().collect();
        let pool = resource.proxy_pool.as_deref();
        let ask = Ask {
            url: &resource.url,
            headers: &headers,
            sha256: resource.sha256,
            pool: pool.map(|pool| (pool, turn(ctx))),
        };
        let (note, notes, stop) = (ctx.state::<Note>()?, Keeping(ctx), ctx.cancellation());
        let fetched = match self.downloads.fetch(&ask, &*place.blobs, note, &notes, &stop).await {
            Ok(fetched) => fetched,
            Err(broken) => {
                let own = resource.host();
                self.learn(&broken, own.as_ref());
                if let Some(note) = &broken.note {
                    // Without the note the next attempt begins at the beginning: no reason to hide what went wrong here.
                    let _ = ctx.save_state(note).await;
                }
                let failure = failure::of(&broken, own.as_ref(), pool, &place.target);
                if let Some(at) = broken.at.as_ref().and_then(Checked::target)
                    && failure.target == own
                {
                    ctx.came_to(at);
                }
                seen.proxy = broken.proxy;
                return Err(failure);
            }
        };
        let by = fetched.by.as_ref().and_then(Checked::target);
        if let Some(url) = fetched.by.as_ref().map(Checked::url) {
            // Its own host led there: without it, one that only redirects would never be given more.
            let own = if url.as_str() == resource.url { None } else { resource.host() };
            hosts(own, by.clone()).for_each(|host| self.polite.went_well(&host));
        }
        (seen.proxy, seen.status) = (fetched.proxy.clone(), Some(fetched.head.status));
        let made = self.store(ctx, resource, place, asked, fetched).await?;
        by.into_iter().for_each(|by| ctx.came_to(by));
        Ok(made)
    }

    /// Gives the object its name. What the place does not take now waits for the next attempt, which asks nobody again.
    async fn store(
        &self,
        ctx: &Context,
        resource: &Resource,
        place: &Place,
        asked: Asked,
        fetched: Fetched,
    ) -> Result<Made, Failure> {
        let Fetched { mut sealed, head, .. } = fetched;
        let Asked { key, tags, .. } =
            match asked.after(self.hook.as_deref(), ctx, resource, &sealed, &head).await {
                Ok(asked) => asked,
                Err(failure) => {
                    // What is refused for good is of no use to anybody.
                    if failure.code.class() == Class::Permanent {
                        sealed.unmark();
                    }
                    return Err(failure);
                }
            };
        let stored = match finish(&mut sealed, &key, resource, ctx.lease().token.0).await {
            Ok(stored) => stored,
            Err(error) => {
                if !error.is_temporary() {
                    sealed.unmark();
                } else if let Some(mark) = sealed.mark() {
                    let _ = ctx.save_state(&Note { mark, head, whole: true }).await;
                }
                return Err(failure::of_store(&error, &place.target));
            }
        };
        Ok(Made {
            place: resource.place.clone(),
            key: stored.key.as_str().to_owned(),
            bytes: stored.bytes,
            sha256: stored.sha256,
            content_type: head.content_type,
            content_encoding: head.content_encoding,
            status: head.status,
            tags,
        })
    }

    /// What an end says about how much a host bears: the one where it happened, and the one that led there, because that is the one
    /// whose number of requests at once is kept.
    fn learn(&self, broken: &Broken, own: Option<&Target>) {
        if broken.proxy.is_some() && failure::is_between(&broken.trouble) {
            return;
        }
        let hosts = hosts(own.cloned(), broken.at.as_ref().and_then(Checked::target));
        match broken.trouble.code() {
            Code::DownloadBusy => hosts.for_each(|host| self.polite.was_busy(&host)),
            Code::DownloadRateLimited
            | Code::DownloadHttp5xx
            | Code::DownloadTimeout
            | Code::DownloadConnect
            | Code::DownloadTooSlow
            | Code::DownloadTruncated => hosts.for_each(|host| self.polite.went_badly(&host)),
            Code::DownloadHttp4xx => hosts.for_each(|host| self.polite.went_well(&host)),
            _ => {}
        }
    }
}

/// What an attempt has seen so far, for whoever reads its failure.
#[derive(Debug, Default)]
struct Seen {
    proxy: Option<String>,
    status: Option<u16>,
}

/// Each of them once.
fn hosts(own: Option<Target>, at: Option<Target>) -> impl Iterator<Item = Target> {
    let at = at.filter(|at| own.as_ref() != Some(at));
    own.into_iter().chain(at)
}

/// Jobs begin at different proxies of a pool, and every attempt goes on to the next.
fn turn(ctx: &Context) -> u64 {
    let [.., a, b, c, d] = *ctx.job().as_uuid().as_bytes();
    u64::from(u32::from_be_bytes([a, b, c, d])).wrapping_add(u64::from(ctx.attempt()))
}

/// In a prefix of its own, what has our name is of another resource for which a handler chose the same, or what an attempt of ours put there
/// before it died, from an origin that changed since: this one gets a name beside it, and the row says which one counts.
async fn finish(
    sealed: &mut Sealed,
    key: &Key,
    resource: &Resource,
    lease: i64,
) -> Result<Stored, BlobError> {
    let mut taken = sealed.finish(key).await;
    for lease in [None, Some(lease)] {
        if resource.shared || !matches!(taken, Err(BlobError::AlreadyExists { .. })) {
            break;
        }
        taken = sealed.finish(&beside(key, &resource.id, lease)?).await;
    }
    taken
}

impl Workload for Fetch {
    type Input = Resource;

    fn policy(&self) -> Policy {
        self.options.policy.clone()
    }

    fn concurrency(&self) -> usize {
        self.options.concurrency
    }

    fn per_target(&self) -> Option<usize> {
        Some(self.polite.first())
    }

    fn per_target_kind(&self) -> Option<&'static str> {
        Some(HOST)
    }

    fn at_once(&self, target: &Target) -> Option<usize> {
        (target.kind() == HOST).then(|| self.polite.at_once(target))
    }

    async fn run(&self, ctx: Context, resource: Resource) -> Result<Done, Failure> {
        let mut seen = Seen::default();
        match self.fetch(&ctx, &resource, &mut seen).await {
            Ok(made) => {
                ctx.set_result(made.reference());
                ctx.set_result_bytes(made.bytes);
                Ok(Done::Complete)
            }
            Err(failure) => Err(failure::told(failure, ctx.attempt(), seen.proxy.as_deref(), seen.status)),
        }
    }
}

/// Notes are the job's execution state.
struct Keeping<'a>(&'a Context);

impl Notes for Keeping<'_> {
    fn note<'a>(&'a self, note: &'a Note) -> BoxFuture<'a, Result<(), Failure>> {
        self.0.save_state(note).boxed()
    }
}
