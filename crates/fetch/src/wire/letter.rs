//! A dead letter's row, with what the job carries, as a message without secrets.

use std::collections::BTreeMap;

use prost::Message as _;
use redrive_engine::Input;
use redrive_engine::model::instant;
use redrive_engine::model::redact::{MASK, redact};
use redrive_engine::store::{AttemptRow, DeadRow, JobRow, Result, Store};
use serde_json::Value;

use super::{DeadLetterTask, DownloadTask, HttpHeader, ProxyHint, StorageHint, TaskAttributes};
use crate::Destinations;
use crate::Pools;
use crate::Resource;
use crate::id::{address, shown_id};

/// Headers whose values tell nothing about who asks. Of all others only the name is told.
const PLAIN: &[&str] = &["accept", "accept-language", "cache-control", "pragma", "user-agent"];

/// The message of a dead letter: looks up the job, what it carries and its newest failed attempt. With the places that there are it says
/// where an object would lie in its bucket or on its machine, else below its place; with the proxy pools, who stands in for the one that is
/// asked.
pub async fn dead_letter(
    store: &dyn Store,
    places: Option<&Destinations>,
    pools: Option<&Pools>,
    dead: &DeadRow,
) -> Result<DeadLetterTask> {
    let job = store.job(dead.job).await?;
    let input = match dead.workload.as_str() == Resource::WORKLOAD {
        true => store.payload(dead.job).await?.map(|payload| payload.input),
        false => None,
    };
    let resource = input.and_then(|input| serde_json::from_slice::<Resource>(&input).ok());
    let attempts = store.attempts(dead.job).await?;
    let last =
        attempts.iter().rfind(|attempt| attempt.generation == dead.generation && attempt.code.is_some());
    let mut letter = message(dead, job.as_ref(), resource.as_ref().zip(Some(places)), last);
    if let (Some(pools), Some(hint)) = (pools, letter.task.as_mut().and_then(|task| task.proxy_hint.as_mut()))
    {
        hint.fallbacks = fallbacks(pools, &hint.primary_pool);
    }
    Ok(letter)
}

impl DeadLetterTask {
    /// The same in at most so many bytes, as far as that goes: tags go first, then headers, then the URL. `shortened` in the metadata says
    /// what went; the letter in the store has all of it.
    #[must_use]
    pub fn within(mut self, most: usize) -> Self {
        for (name, shorten) in SHORTER {
            if self.encoded_len() <= most {
                return self;
            }
            if self.task.as_mut().is_some_and(shorten) {
                let gone = self.metadata.entry("shortened".to_owned()).or_default();
                if !gone.is_empty() {
                    gone.push(',');
                }
                gone.push_str(name);
            }
        }
        self
    }
}

/// What a letter can do without, and whether there was any.
type Shorten = fn(&mut DownloadTask) -> bool;

const SHORTER: [(&str, Shorten); 3] = [
    ("tags", |task| task.attributes.as_mut().is_some_and(|all| !std::mem::take(&mut all.tags).is_empty())),
    ("headers", |task| !std::mem::take(&mut task.headers).is_empty()),
    ("url", |task| !std::mem::replace(&mut task.url, MASK.to_owned()).is_empty()),
];

fn message(
    dead: &DeadRow,
    job: Option<&JobRow>,
    resource: Option<(&Resource, Option<&Destinations>)>,
    last: Option<&AttemptRow>,
) -> DeadLetterTask {
    let batch = job.and_then(|job| job.batch);
    let mut task = DownloadTask {
        job_id: batch.map_or_else(|| dead.job.to_string(), |batch| batch.to_string()),
        job_type: dead.workload.to_string(),
        resource_id: job.and_then(|job| job.label.as_deref()).map(shown_id).unwrap_or_default(),
        attempt: dead.attempts,
        tenant: dead.owner.as_ref().map(ToString::to_string).unwrap_or_default(),
        ..DownloadTask::default()
    };
    if let Some((resource, places)) = resource {
        describe(&mut task, resource, places);
    }
    let mut metadata = BTreeMap::from([
        ("offset".to_owned(), dead.offset.to_string()),
        ("job".to_owned(), dead.job.to_string()),
        ("generation".to_owned(), dead.generation.to_string()),
        ("reason".to_owned(), dead.reason.as_str().to_owned()),
        ("fingerprint".to_owned(), dead.fingerprint.to_string()),
    ]);
    if let Some(batch) = batch {
        metadata.insert("batch".to_owned(), batch.to_string());
    }
    if dead.code != dead.code.public() {
        metadata.insert("inner_code".to_owned(), dead.code.name().to_owned());
    }
    if let Some(previous) = dead.previous {
        metadata.insert("previous_offset".to_owned(), previous.to_string());
    }
    if let Some(last) = last {
        metadata.extend(facts(last));
    }
    DeadLetterTask {
        task: Some(task),
        failure_code: dead.code.public().name().to_owned(),
        failure_message: redact(&dead.message),
        attempts: dead.attempts,
        failed_at_ms: u64::try_from(instant::to_millis(dead.at)).unwrap_or_default(),
        metadata,
    }
}

/// What the newest attempt met: the status of the answer, the proxy it went through, and behind redirects the host and which one led there.
fn facts(last: &AttemptRow) -> BTreeMap<String, String> {
    let context: Option<BTreeMap<String, Value>> =
        last.context.as_deref().and_then(|context| serde_json::from_str(context).ok());
    let mut facts = BTreeMap::new();
    if let Some(status) = last.target_status {
        facts.insert("status".to_owned(), status.to_string());
    }
    for (name, value) in context.unwrap_or_default() {
        let text = match value {
            Value::String(text) => redact(&text),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => continue,
        };
        if matches!(name.as_str(), "host" | "hop" | "proxy" | "status") {
            facts.insert(name, text);
        }
    }
    facts
}

fn describe(task: &mut DownloadTask, resource: &Resource, places: Option<&Destinations>) {
    task.resource_id = shown_id(&resource.id);
    task.url = address(&resource.url);
    task.headers = resource.headers.iter().map(|(name, value)| header(name, value)).collect();
    task.manifest_key.clone_from(&resource.manifest);
    task.proxy_hint =
        resource.proxy_pool.clone().map(|primary_pool| ProxyHint { primary_pool, ..ProxyHint::default() });
    let place = resource.place.as_ref().map(|place| ("place".to_owned(), redact(place)));
    task.storage_hint = Some(StorageHint {
        bucket: resource.bucket.clone().unwrap_or_default(),
        key_prefix: places.map_or_else(|| resource.prefix.clone(), |places| places.prefix_of(resource)),
        metadata: place.into_iter().collect(),
    });
    task.attributes = Some(TaskAttributes {
        tags: resource.tags.iter().map(|(name, value)| (name.clone(), tag(name, value))).collect(),
        checksum_hint: resource.sha256.as_ref().map(ToString::to_string).unwrap_or_default(),
        ..TaskAttributes::default()
    });
}

/// The pools that stand in for this one, in the order in which they are asked.
fn fallbacks(pools: &Pools, of: &str) -> Vec<String> {
    let mut fallbacks: Vec<String> = Vec::new();
    for (proxy, _) in pools.states(of) {
        let pool = proxy.rsplit_once('#').map_or(proxy, |(pool, _)| pool);
        if pool != of && fallbacks.last().is_none_or(|last| last != pool) {
            fallbacks.push(pool.to_owned());
        }
    }
    fallbacks
}

fn header(name: &str, value: &str) -> HttpHeader {
    let name = name.to_ascii_lowercase();
    let plain = PLAIN.contains(&name.as_str());
    HttpHeader { value: if plain { redact(value) } else { MASK.to_owned() }, name }
}

/// A tag as it is, unless its name says that it is a secret or its text holds one.
fn tag(name: &str, value: &str) -> String {
    let pair = format!("{name}=x");
    if redact(&pair) == pair { redact(value) } else { MASK.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_that_is_too_long_loses_its_tags_first_and_says_so() {
        let tags: BTreeMap<String, String> = (0..64).map(|n| (n.to_string(), "&".repeat(8_000))).collect();
        let letter = || DeadLetterTask {
            task: Some(DownloadTask {
                url: "https://h.example/".to_owned() + &"u".repeat(2_000),
                headers: (0..64).map(|n| header(&n.to_string(), &"h".repeat(100))).collect(),
                attributes: Some(TaskAttributes { tags: tags.clone(), ..TaskAttributes::default() }),
                ..DownloadTask::default()
            }),
            failure_code: "DOWNLOAD_HTTP_4XX".to_owned(),
            ..DeadLetterTask::default()
        };
        let whole = letter().encoded_len();
        assert_eq!(letter().within(whole), letter(), "what fits stays as it is");
        for (most, gone) in
            [(whole - 1, "tags"), (2_500, "tags,headers"), (500, "tags,headers,url"), (0, "tags,headers,url")]
        {
            let short = letter().within(most);
            assert_eq!(short.metadata["shortened"], gone, "{most}");
            assert!(short.encoded_len() <= most.max(200), "{most}: {}", short.encoded_len());
            assert_eq!(short.failure_code, "DOWNLOAD_HTTP_4XX");
        }
    }

    #[test]
    fn of_headers_and_tags_only_what_is_surely_no_secret_is_told() {
        for name in ["Authorization", "Cookie", "X-Api-Key", "Proxy-Token", "Referer", "X-Anything"] {
            let told = header(name, "CANARY");
            assert_eq!((told.name, told.value.as_str()), (name.to_lowercase(), MASK));
        }
        assert_eq!(header("User-Agent", "bot/1").value, "bot/1");
        assert_eq!(header("Accept", "https://u:CANARY@h/").value, "https://h/");
        assert_eq!(tag("colour", "blue"), "blue");
        assert_eq!(tag("api_key", "CANARY"), MASK);
        assert_eq!(tag("source", "https://u:CANARY@h/"), "https://h/");
    }
}
