//! What a manifest says about all of its resources.

use redrive_engine::Code;
use redrive_engine::model::batch::EndRule;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields::{Fields, wrong};
use super::problem::Wrong;

/// Largest `metadata`, in bytes.
const MAX_METADATA: usize = 4_096;
/// Longest `to`, in bytes.
const MAX_TO: usize = 1_024;

/// The fields beside `resources`. Its JSON is the first line of a stored manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) manifest_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_pool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end_rule: Option<Rule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// What a mix of outcomes makes of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rule {
    Strict,
    Tolerant,
}

impl Default for Head {
    fn default() -> Self {
        Self { manifest_version: 1, to: None, proxy_pool: None, end_rule: None, metadata: None }
    }
}

impl Head {
    pub(crate) fn rule(&self) -> EndRule {
        match self.end_rule {
            Some(Rule::Tolerant) => EndRule::Tolerant,
            Some(Rule::Strict) | None => EndRule::Strict,
        }
    }

    /// Takes the head out of these fields.
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Wrong> {
        let version = fields.take("manifest_version").ok_or_else(|| {
            Wrong::field(Code::ValidationMissingField, "manifest_version", "is missing: it is 1")
        })?;
        if version != "1" {
            let reason = "only 1 is known";
            return Err(Wrong::field(Code::ValidationUnsupportedVersion, "manifest_version", reason));
        }
        let to = fields.text("to")?;
        if to.as_ref().is_some_and(|to| to.is_empty() || to.len() > MAX_TO) {
            return Err(wrong("to", &format!("between 1 and {MAX_TO} bytes")));
        }
        let end_rule = match fields.text("end_rule")?.as_deref() {
            None => None,
            Some("strict") => Some(Rule::Strict),
            Some("tolerant") => Some(Rule::Tolerant),
            Some(_) => return Err(wrong("end_rule", "strict or tolerant")),
        };
        let metadata = fields.take("metadata").map(|raw| match raw.len() > MAX_METADATA {
            true => Err(wrong("metadata", &format!("at most {MAX_METADATA} bytes"))),
            false => serde_json::from_str(raw).map_err(|_| wrong("metadata", "an object")),
        });
        Ok(Self {
            manifest_version: 1,
            to,
            proxy_pool: fields.text("proxy_pool")?,
            end_rule,
            metadata: metadata.transpose()?,
        })
    }
}
