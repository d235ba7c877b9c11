//! Character maps: what the file itself says about codes and characters.

use crate::pdf::limits::Budget;
use crate::pdf::refusal::Refusal;
use crate::pdf::unpack::unpack;
use hayro_cmap::{BfString, CMap, CMapName, CidFamily};
use hayro_syntax::object::{Dict, Name, Object, Stream};

/// Parses a character map; those that it builds upon are looked up among the predefined ones.
pub(super) fn parse(data: &[u8]) -> Option<CMap> {
    CMap::parse(data, hayro_cmap::load_embedded)
}

/// A predefined character map.
pub(super) fn predefined(name: &[u8]) -> Option<CMap> {
    match CMapName::from_bytes(name) {
        CMapName::IdentityH => Some(CMap::identity_h()),
        CMapName::IdentityV => Some(CMap::identity_v()),
        other => parse(hayro_cmap::load_embedded(other)?),
    }
}

/// What a font says that its codes mean.
#[derive(Debug)]
pub(super) enum ToUnicode {
    /// A map of its own.
    Map(Box<CMap>),
    /// The codes are the characters.
    Identity,
}

impl ToUnicode {
    pub(super) fn of(font: &Dict<'_>, budget: &Budget) -> Result<Option<Self>, Refusal> {
        match font.get::<Object<'_>>("ToUnicode") {
            Some(Object::Stream(stream)) => {
                let Some(data) = unpack(&stream, budget)? else { return Ok(None) };
                Ok(parse(&data).map(|map| Self::Map(Box::new(map))))
            }
            Some(Object::Name(name)) => Ok(name.starts_with(b"Identity").then_some(Self::Identity)),
            _ => Ok(None),
        }
    }

    /// The characters of a code. A map that says "nothing" or U+0000 says that it does not know.
    pub(super) fn get(&self, code: u32) -> Option<String> {
        let text = match self {
            Self::Map(map) => match map.lookup_bf_string(code)? {
                BfString::Char(character) => character.to_string(),
                BfString::String(text) => text,
            },
            Self::Identity => char::from_u32(code)?.to_string(),
        };
        (!text.is_empty() && text.chars().any(|c| c != '\0')).then_some(text)
    }
}

/// What the characters of one of Adobe's collections mean.
#[derive(Debug)]
pub(super) struct Collection(CMap);

impl Collection {
    /// From the character map that a font uses, or from what the font says of itself.
    pub(super) fn of(encoding: &CMap, inner: &Dict<'_>) -> Option<Self> {
        let family = encoding.metadata().character_collection.as_ref().map(|collection| &collection.family);
        let family = match family {
            Some(CidFamily::AdobeIdentity) | Some(CidFamily::Custom { .. }) | None => &said(inner)?,
            Some(
                family @ (CidFamily::AdobeJapan1
                | CidFamily::AdobeGB1
                | CidFamily::AdobeCNS1
                | CidFamily::AdobeKorea1),
            ) => family,
        };
        parse(hayro_cmap::load_embedded(family.ucs2_cmap()?)?).map(Self)
    }

    pub(super) fn get(&self, cid: u32) -> Option<String> {
        match self.0.lookup_bf_string(cid)? {
            BfString::Char(character) => Some(character.to_string()),
            BfString::String(text) => Some(text),
        }
    }
}

fn said(inner: &Dict<'_>) -> Option<CidFamily> {
    let info: Dict<'_> = inner.get("CIDSystemInfo")?;
    let registry: hayro_syntax::object::String<'_> = info.get("Registry")?;
    let ordering: hayro_syntax::object::String<'_> = info.get("Ordering")?;
    Some(CidFamily::from_registry_ordering(&registry, &ordering))
}

/// The map from bytes to character numbers that a composite font uses. A stream may say in its dictionary which map it
/// builds upon, even when that one is a stream too.
pub(super) fn encoding(font: &Dict<'_>, budget: &Budget) -> Result<Option<CMap>, Refusal> {
    match font.get::<Object<'_>>("Encoding") {
        Some(Object::Name(name)) => Ok(predefined(&name)),
        Some(Object::Stream(stream)) => {
            let Some(data) = unpack(&stream, budget)? else { return Ok(None) };
            let vertical = stream.dict().get::<i32>("WMode") == Some(1);
            let map = match base(&stream, budget)? {
                Some(base) => CMap::parse(&base_first(&base, &data), hayro_cmap::load_embedded),
                None => parse(&data),
            };
            Ok(map.or_else(|| Some(if vertical { CMap::identity_v() } else { CMap::identity_h() })))
        }
        _ => Ok(None),
    }
}

fn base(stream: &Stream<'_>, budget: &Budget) -> Result<Option<Vec<u8>>, Refusal> {
    if stream.dict().get::<Name<'_>>("UseCMap").is_some() {
        // The map's own `usecmap` says the same.
        return Ok(None);
    }
    let Some(base) = stream.dict().get::<Stream<'_>>("UseCMap") else { return Ok(None) };
    Ok(unpack(&base, budget)?.map(std::borrow::Cow::into_owned))
}

/// Both maps as one text: what comes later wins.
fn base_first(base: &[u8], data: &[u8]) -> Vec<u8> {
    let mut both = base.to_vec();
    both.push(b'\n');
    both.extend_from_slice(data);
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> ToUnicode {
        ToUnicode::Map(Box::new(parse(text.as_bytes()).unwrap()))
    }

    #[test]
    fn characters_ranges_arrays_and_surrogates_are_understood() {
        let map = map("begincmap 1 begincodespacerange <00> <FF> endcodespacerange \
             2 beginbfchar <01> <0041> <02> <00660069> endbfchar \
             2 beginbfrange <10> <12> <0061> <20> <21> [<0078> <D83DDE00>] endbfrange endcmap");
        assert_eq!(map.get(1).as_deref(), Some("A"));
        assert_eq!(map.get(2).as_deref(), Some("fi"));
        assert_eq!(map.get(0x12).as_deref(), Some("c"));
        assert_eq!(map.get(0x20).as_deref(), Some("x"));
        assert_eq!(map.get(0x21).as_deref(), Some("\u{1F600}"));
        assert_eq!(map.get(0x13), None);
    }

    #[test]
    fn a_map_to_nothing_is_no_answer() {
        let map = map("begincmap 1 beginbfchar <01> <0000> endbfchar endcmap");
        assert_eq!(map.get(1), None);
    }

    #[test]
    fn the_predefined_maps_are_there() {
        let map = predefined(b"90ms-RKSJ-H").unwrap();
        assert_eq!(map.lookup_cid_code(0x82A0, 2), Some(843));
        let collection = Collection::of(&map, &Dict::empty()).and_then(|collection| collection.get(843));
        assert_eq!(collection.as_deref(), Some("あ"));
    }
}
