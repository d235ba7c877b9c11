//! Layers that the file itself switches off: what nobody sees is not read.

use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, ObjectIdentifier};
use std::collections::BTreeSet;

/// The layers that are off when the file is opened.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    off: BTreeSet<ObjectIdentifier>,
}

impl Layers {
    pub(crate) fn of(catalog: &Dict<'_>) -> Self {
        let Some(properties) = catalog.get::<Dict<'_>>("OCProperties") else { return Self::default() };
        let start: Dict<'_> = properties.get("D").unwrap_or_default();
        let all_off = start.get::<Name<'_>>("BaseState").as_deref() == Some(b"OFF");
        let mut off = if all_off { references(&properties, "OCGs") } else { BTreeSet::new() };
        off.retain(|id| !references(&start, "ON").contains(id));
        off.extend(references(&start, "OFF"));
        Self { off }
    }

    /// Whether what stands under `key` is a layer that is off, or a rule about layers that says so.
    pub(crate) fn hide(&self, dictionary: &Dict<'_>, key: impl AsRef<[u8]>) -> bool {
        if self.off.is_empty() {
            return false;
        }
        if let Some(id) = dictionary.get_ref(&key)
            && self.off.contains(&id.into())
        {
            return true;
        }
        let Some(rule) = dictionary.get::<Dict<'_>>(&key) else { return false };
        let layers = references(&rule, "OCGs");
        if layers.is_empty() {
            return false;
        }
        let off = layers.iter().filter(|id| self.off.contains(id)).count();
        match rule.get::<Name<'_>>("P").as_deref() {
            Some(b"AllOn") => off > 0,
            Some(b"AnyOff") => off == 0,
            Some(b"AllOff") => off < layers.len(),
            _ => off == layers.len(),
        }
    }
}

/// The objects that an entry refers to, one or many.
fn references(dictionary: &Dict<'_>, key: &str) -> BTreeSet<ObjectIdentifier> {
    let one = dictionary.get_ref(key).map(ObjectIdentifier::from);
    let many = dictionary.get::<Array<'_>>(key).map(|array| {
        let ids = array.raw_iter().filter_map(|item: MaybeRef<Object<'_>>| item.as_obj_ref());
        ids.map(ObjectIdentifier::from).collect::<BTreeSet<_>>()
    });
    many.unwrap_or_else(|| one.into_iter().collect())
}
