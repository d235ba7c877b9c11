//! The fields of a JSON object, each still as it was written, so that whoever reads one can say which one was wrong.

use std::collections::BTreeMap;
use std::fmt;

use redrive_engine::Code;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::problem::Wrong;

/// Most fields of one object: far more than any that we know.
const MOST: usize = 64;

/// The fields of one object, in their order.
pub(super) struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Reads an object. A field that is given twice is refused: nobody can say which one was meant.
    pub(super) fn read(text: &'a str) -> Result<Self, Wrong> {
        let mut json = serde_json::Deserializer::from_str(text);
        let fields = json.deserialize_map(Pairs).and_then(|fields| json.end().map(|()| fields));
        let fields = fields.map_err(|error| malformed(&error, "an object"))?;
        for (n, (name, _)) in fields.iter().enumerate() {
            if fields.iter().take(n).any(|(other, _)| other == name) {
                return Err(Wrong::field(Code::ValidationInvalidField, name, "is given twice"));
            }
        }
        Ok(Self(fields))
    }

    /// Takes a field out; one that is null is none.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(other, _)| other == name)?;
        let (_, raw) = self.0.remove(at);
        Some(raw.get()).filter(|text| *text != "null")
    }

    /// Whether there is such a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other == name)
    }

    /// Takes a text out.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Wrong> {
        let Some(raw) = self.take(name) else { return Ok(None) };
        serde_json::from_str(raw).map(Some).map_err(|_| wrong(name, "a string"))
    }

    /// Takes a text out that must be there.
    pub(super) fn needed(&mut self, name: &str) -> Result<String, Wrong> {
        let missing = || Wrong::field(Code::ValidationMissingField, name, "is missing");
        self.text(name)?.ok_or_else(missing)
    }

    /// Takes an object of texts out.
    pub(super) fn texts(&mut self, name: &str) -> Result<BTreeMap<String, String>, Wrong> {
        let mut texts = BTreeMap::new();
        let Some(raw) = self.take(name) else { return Ok(texts) };
        let fields = Fields::read(raw).map_err(|inner| match inner.field {
            Some(twice) => wrong(name, &format!("an object without {twice:?} given twice")),
            None => wrong(name, &format!("an object of at most {MOST} strings")),
        })?;
        for (key, raw) in fields.0 {
            let text = serde_json::from_str(raw.get()).map_err(|_| wrong(name, "an object of strings"))?;
            texts.insert(key, text);
        }
        Ok(texts)
    }

    /// What nobody took is unknown.
    pub(super) fn nothing_else(self) -> Result<(), Wrong> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(Wrong::field(Code::ValidationUnknownField, name, "there is no such field"))
            }
        }
    }
}

/// Reads an array of at most so many things, each as it was written.
pub(super) fn items<'a>(name: &str, text: &'a str, most: usize) -> Result<Vec<&'a RawValue>, Wrong> {
    let mut json = serde_json::Deserializer::from_str(text);
    let items = Items { most }.deserialize(&mut json).map_err(|_| wrong(name, "an array"))?;
    if items.len() > most {
        let reason = format!("a JSON document has at most {most}: send more as NDJSON, one a line");
        return Err(Wrong::field(Code::ValidationTooMany, name, reason));
    }
    Ok(items)
}

pub(super) fn wrong(field: &str, expected: &str) -> Wrong {
    Wrong::field(Code::ValidationInvalidField, field, format!("must be {expected}"))
}

fn malformed(error: &serde_json::Error, expected: &str) -> Wrong {
    if error.is_data() {
        return Wrong::new(Code::ValidationMalformed, format!("must be {expected} of at most {MOST} fields"));
    }
    let place = match error.line() {
        0 | 1 => format!("column {}", error.column()),
        line => format!("line {line} column {}", error.column()),
    };
    let what = if error.is_eof() { "ends too early" } else { "is not valid JSON" };
    Wrong::new(Code::ValidationMalformed, format!("{what} at {place}"))
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(pair) = map.next_entry()? {
            fields.push(pair);
            if fields.len() > MOST {
                return Err(A::Error::custom("too many fields"));
            }
        }
        Ok(fields)
    }
}

struct Items {
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Items {
    type Value = Vec<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
            if items.len() > self.most {
                break;
            }
        }
        Ok(items)
    }
}
