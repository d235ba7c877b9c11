//! What must hold when a batch is over: counts, codes, bytes, dead letters, and what is missing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use redrive_lab::origin::body_of;

use super::bucket::Place;
use super::manifest::{Bad, Manifest};
use crate::acceptance::kit::{Browser, World, sha256};

/// The operators' token of these worlds.
pub(super) const TOKEN: &str = "of-the-operator-of-this-test";

/// The end of a batch, seen from everywhere.
pub(super) struct Judge<'a> {
    pub(super) world: &'a World,
    pub(super) browser: &'a Browser,
    pub(super) batch: &'a str,
    pub(super) manifest: &'a Manifest,
    pub(super) place: &'a Place,
}

impl Judge<'_> {
    /// Everything at once.
    pub(super) async fn all(&self) {
        self.counts().await;
        self.resources().await;
        self.ended_once().await;
        self.dead_letter().await;
        self.missing().await;
        let audit = self.operate("/api/auditor").await;
        assert_eq!(audit["clean"], true, "{audit:#}");
    }

    async fn get(&self, rest: &str) -> Value {
        let answer = self.browser.get(&format!("/api/fetch/{}{rest}", self.batch)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    async fn operate(&self, path: &str) -> Value {
        let asked = self.browser.request("GET", path).header("authorization", format!("Bearer {TOKEN}"));
        let answer = self.browser.send(asked).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    async fn counts(&self) {
        let snapshot = self.get("").await;
        let (total, bad) = (self.manifest.0.len(), self.manifest.bad().len());
        assert_eq!(snapshot["resources_completed"], total - bad, "{snapshot:#}");
        assert_eq!(
            (&snapshot["resources_failed"], &snapshot["resources_cancelled"]),
            (&bad.into(), &0.into()),
            "{snapshot:#}"
        );
        assert_eq!((&snapshot["status"], &snapshot["unpacked"]), (&"failed".into(), &true.into()));
        let by_code: BTreeMap<String, u64> =
            serde_json::from_value(snapshot["failures_by_code"].clone()).unwrap();
        assert_eq!(by_code, self.manifest.failures());
        let bytes: usize = self.right().map(|path| body_of(path).len()).sum();
        assert_eq!(snapshot["bytes"], bytes, "{snapshot:#}");
    }

    fn right(&self) -> impl Iterator<Item = &str> {
        self.manifest.0.values().filter(|wanted| wanted.bad.is_none()).map(|wanted| wanted.path.as_str())
    }

    /// Each resource once, each object with the right bytes under a name of its own, each failure with its code.
    async fn resources(&self) {
        let (mut seen, mut keys) = (BTreeSet::new(), BTreeSet::new());
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("/resources?limit=200&cursor={cursor}")).await;
            for resource in page["resources"].as_array().unwrap() {
                let id = resource["id"].as_str().unwrap();
                assert!(seen.insert(id.to_owned()), "{id} is there twice");
                let wanted = &self.manifest.0[id];
                if let Some(bad) = wanted.bad {
                    self.failed(resource, bad).await;
                    continue;
                }
                assert_eq!(resource["status"], "complete", "{resource:#}");
                let key = resource["key"].as_str().unwrap();
                assert!(keys.insert(key.to_owned()), "{key} is two resources'");
                let bytes = self.place.read(self.world, key).await;
                assert_eq!(resource["sha256"], sha256(&bytes), "{resource:#}");
                assert_eq!(bytes, body_of(&wanted.path), "{id}");
            }
            match page["next_cursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => break,
            }
        }
        assert_eq!(seen.len(), self.manifest.0.len());
    }

    async fn failed(&self, resource: &Value, bad: Bad) {
        let (code, tries) = bad.told();
        assert_eq!(resource["status"], "failed", "{resource:#}");
        assert_eq!(resource["failure"]["code"], code, "{resource:#}");
        let attempts = self.browser.attempts(resource["job_id"].as_str().unwrap()).await;
        // What a killed worker had begun is charged as its crash, and takes nothing from what the failure is worth.
        let ended = |attempt: &&Value| matches!(attempt["outcome"].as_str(), Some("retry" | "failed"));
        assert_eq!(attempts.iter().filter(ended).count(), tries, "{attempts:#?}");
    }

    /// One event says that it is over.
    async fn ended_once(&self) {
        let rows = self.world.rows("SELECT kind FROM events WHERE kind = 'batch_ended'").await;
        let ended = rows.len();
        assert_eq!(ended, 1, "the batch ended {ended} times");
    }

    /// The pointer leads to a resource of this batch that failed.
    async fn dead_letter(&self) {
        let snapshot = self.get("").await;
        let letter = self.operate(&format!("/api/dead-letters/{}", snapshot["dlq_offset"])).await;
        let id = letter["task"]["resource_id"].as_str().unwrap();
        assert!(self.manifest.bad().contains_key(id), "{letter:#}");
        assert_eq!(letter["task"]["manifest_key"], snapshot["manifest_key"], "{letter:#}");
        let listed = self.operate("/api/dead-letters?workload=fetch&state=open&limit=200").await;
        let letters = listed["dead_letters"].as_array().unwrap_or_else(|| panic!("{listed:#}"));
        let dead: Vec<&str> =
            letters.iter().map(|letter| letter["task"]["resource_id"].as_str().unwrap()).collect();
        assert_eq!(dead.len(), self.manifest.bad().len(), "one letter each");
        assert_eq!(dead.into_iter().collect::<BTreeSet<_>>(), self.manifest.bad().into_keys().collect());
    }

    /// Exactly the bad ones, with their real addresses.
    async fn missing(&self) {
        let missing = self.get("/missing").await;
        let named: BTreeMap<&str, &str> = missing["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| (resource["id"].as_str().unwrap(), resource["url"].as_str().unwrap()))
            .collect();
        let bad: BTreeMap<&str, &str> =
            self.manifest.bad().into_keys().map(|id| (id, self.manifest.0[id].url.as_str())).collect();
        assert_eq!(named, bad);
    }
}
