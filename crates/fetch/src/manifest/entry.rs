//! One resource as a manifest says it, and what all resources of a manifest share.

use std::collections::BTreeMap;

use redrive_blob::Sha256;
use redrive_engine::Code;
use serde::{Deserialize, Serialize};

use super::fields::{Fields, wrong};
use super::problem::Wrong;
use crate::input::Resource;

/// One resource. Its JSON is a line of a manifest.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<Sha256>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) tags: BTreeMap<String, String>,
}

/// What all resources of a batch share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Common {
    pub(crate) manifest_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bucket: Option<String>,
    pub(crate) prefix: String,
    pub(crate) shared: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_pool: Option<String>,
}

impl Entry {
    pub(super) fn read(text: &str) -> Result<Self, Wrong> {
        let mut fields = Fields::read(text)?;
        let (id, url) = (fields.needed("id")?, fields.needed("url")?);
        let sha256 = fields
            .text("sha256")?
            .map(|text| Sha256::parse(&text).ok_or_else(|| wrong("sha256", "64 hexadecimal digits")))
            .transpose()?;
        let (said, tags) = (fields.texts("headers")?, fields.texts("tags")?);
        fields.nothing_else()?;
        let mut headers = BTreeMap::new();
        for (name, value) in said {
            let name = name.to_ascii_lowercase();
            if headers.contains_key(&name) {
                let reason = format!("{name:?} is given twice");
                return Err(Wrong::field(Code::ValidationInvalidField, "headers", reason));
            }
            headers.insert(name, value);
        }
        Ok(Self { id, url, headers, sha256, tags })
    }

    /// How many bytes its line has.
    pub(super) fn written(&self) -> usize {
        serde_json::to_vec(self).map_or(usize::MAX, |line| line.len())
    }

    /// The field that makes it long.
    pub(super) fn largest(&self) -> &'static str {
        let size = |pairs: &BTreeMap<String, String>| -> usize {
            pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
        };
        if size(&self.tags) > size(&self.headers) { "tags" } else { "headers" }
    }

    /// As the job carries it.
    pub(crate) fn resource(self, common: &Common) -> Resource {
        Resource {
            manifest: common.manifest_key.clone(),
            id: self.id,
            url: self.url,
            headers: self.headers,
            sha256: self.sha256,
            tags: self.tags,
            place: common.place.clone(),
            bucket: common.bucket.clone(),
            prefix: common.prefix.clone(),
            shared: common.shared,
            proxy_pool: common.proxy_pool.clone(),
        }
    }

    /// Back from what the job carries.
    pub(crate) fn of(resource: Resource) -> Self {
        let Resource { id, url, headers, sha256, tags, .. } = resource;
        Self { id, url, headers, sha256, tags }
    }
}
