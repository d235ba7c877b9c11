//! What the gateway can make: its last known list, asked for in the background, so that no request waits for a gateway.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use redrive_api::{GatewayState, Mapping};
use redrive_convert::Gateway;
use redrive_model::{Code, text};

use crate::app::App;
use crate::refusal::Refusal;

/// While it has never answered it is asked this often.
const EAGER: Duration = Duration::from_secs(2);
/// More than this many mappings are not believed.
const MOST: usize = 1_000;

/// The list, and who is asked for it.
#[derive(Debug)]
pub(crate) struct Mappings {
    gateway: Option<Gateway>,
    known: RwLock<Option<Arc<Vec<Mapping>>>>,
}

impl Mappings {
    pub(crate) fn new(gateway: Option<Gateway>) -> Self {
        Self { gateway, known: RwLock::default() }
    }

    fn known(&self) -> Option<Arc<Vec<Mapping>>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The list; while the gateway has never answered, what the built-in one makes.
    pub(crate) fn list(&self) -> Arc<Vec<Mapping>> {
        self.known().unwrap_or_else(|| Arc::new(built_in()))
    }

    /// What is made unless something else is asked for.
    pub(crate) fn default_name(&self) -> String {
        self.list().first().map_or_else(|| "text".to_owned(), |mapping| mapping.name.clone())
    }

    /// Whether there is such a mapping. While the gateway has never answered, any name may be one.
    pub(crate) fn check(&self, name: &str) -> Result<String, Refusal> {
        match self.known() {
            Some(known) if known.iter().all(|mapping| mapping.name != name) => {
                let name = text::one_line(name, 64, false);
                let names: Vec<&str> = known.iter().take(20).map(|mapping| mapping.name.as_str()).collect();
                let text = format!("There is no mapping {name:?}; there is {}.", names.join(", "));
                Err(Refusal::new(Code::ValidationUnknownMapping, text))
            }
            Some(_) | None => Ok(name.to_owned()),
        }
    }

    pub(crate) fn state(&self) -> GatewayState {
        match (&self.gateway, self.known()) {
            (None, _) => GatewayState::NotConfigured,
            (Some(_), None) => GatewayState::Unknown,
            (Some(_), Some(_)) => GatewayState::Known,
        }
    }

    /// Asks again and again. A gateway that is away keeps its last list.
    pub(crate) async fn keep_fresh(&self, every: Duration) {
        let Some(gateway) = &self.gateway else { return };
        loop {
            match gateway.mappings().await {
                Ok(list) => self.learn(list),
                Err(failure) => tracing::debug!(event = "mappings.unknown", "{failure}"),
            }
            let wait = if self.known().is_some() { every } else { EAGER.min(every) };
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes a list, as far as it can be shown. An empty one is none.
    fn learn(&self, list: Vec<redrive_convert::Mapping>) {
        let plain = |name: &str| !name.is_empty() && name.len() <= 255 && !name.chars().any(text::misleads);
        let list: Vec<Mapping> = list
            .into_iter()
            .filter(|mapping| plain(&mapping.name))
            .take(MOST)
            .map(|mapping| Mapping {
                title: text::one_line(
                    if mapping.title.is_empty() { &mapping.name } else { &mapping.title },
                    255,
                    false,
                ),
                name: mapping.name,
                schema: mapping.schema,
                media_type: mapping.media_type,
            })
            .collect();
        if !list.is_empty() {
            *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(list));
        }
    }
}

/// What the built-in gateway makes.
fn built_in() -> Vec<Mapping> {
    let mapping = |name: &str, title: &str| Mapping {
        name: name.to_owned(),
        title: title.to_owned(),
        schema: None,
        media_type: Some("application/xml".to_owned()),
    };
    vec![
        mapping("text", "Text with boxes"),
        mapping("alto", "ALTO 4.4"),
        mapping("tei", "TEI P5"),
        mapping("docbook", "DocBook 5.0"),
    ]
}

/// What can be made; the first is the default.
#[utoipa::path(get, path = "/api/mappings", tag = "convert", responses((status = 200, body = Vec<Mapping>)))]
pub(crate) async fn list(State(app): State<App>) -> Json<Vec<Mapping>> {
    Json(app.mappings().list().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(name: &str) -> redrive_convert::Mapping {
        redrive_convert::Mapping { name: name.into(), title: String::new(), schema: None, media_type: None }
    }

    #[test]
    fn any_name_passes_until_the_gateway_has_told_its_own() {
        let mappings = Mappings::new(None);
        assert_eq!(mappings.check("anything").unwrap(), "anything");
        assert_eq!(mappings.default_name(), "text");
        mappings.learn(Vec::new());
        assert!(mappings.check("anything").is_ok(), "an empty list says nothing");
        mappings.learn(vec![mapping("a"), mapping("b\u{202e}"), mapping("")]);
        assert_eq!(mappings.list().len(), 1);
        assert_eq!((mappings.default_name().as_str(), mappings.check("a").is_ok()), ("a", true));
        assert!(mappings.check("text").is_err_and(|r| r.code() == "VALIDATION_UNKNOWN_MAPPING"));
    }
}
