//! Unpacks streams without being surprised by their size.
//!
//! A stream's worst case is known from its packed length and its filters; most streams are harmless by that alone. The
//! rest is unpacked once only to count, and unpacked for good when the count is within the limits.

use super::armour;
use super::limits::{Budget, Limits};
use super::refusal::{Limit, Refusal};
use flate2::read::{DeflateDecoder, ZlibDecoder};
use hayro_syntax::Filter;
use hayro_syntax::object::Stream;
use std::borrow::Cow;
use std::io::Read;

/// The stream's bytes with all filters undone; nothing if it is damaged beyond use.
pub(crate) fn unpack<'a>(stream: &Stream<'a>, budget: &Budget) -> Result<Option<Cow<'a, [u8]>>, Refusal> {
    weigh(stream, budget.limits())?;
    let Ok(data) = stream.decoded_data() else { return Ok(None) };
    budget.bytes(widen(data.len()))?;
    Ok(Some(data))
}

/// Refuses a stream that unpacks to more than one stream may, before anyone unpacks it.
pub(crate) fn weigh(stream: &Stream<'_>, limits: &Limits) -> Result<(), Refusal> {
    let filters = stream.filters();
    if filters.len() > limits.filters {
        return Err(Refusal::LimitExceeded(Limit::Filters));
    }
    let growth = filters.iter().fold(1_u64, |all, filter| all.saturating_mul(worst_growth(*filter)));
    if growth == 1 {
        return Ok(());
    }
    let packed = stream.raw_data();
    if widen(packed.len()).saturating_mul(growth) <= limits.stream_bytes {
        return Ok(());
    }
    let stages: Vec<Packing> = filters.iter().map(|filter| Packing::of(*filter)).collect();
    count(&packed, &stages, limits.stream_bytes).map(|_| ())
}

/// How raw bytes of a stream are packed, as far as size matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Deflate.
    Flate,
    /// LZW.
    Lzw,
    /// Pairs of hexadecimal digits.
    Hex,
    /// Five letters for four bytes.
    Ascii85,
    /// Repeated bytes.
    RunLength,
    /// Pictures and encryption: nothing that this reader unpacks.
    Other,
}

impl Packing {
    fn of(filter: Filter) -> Self {
        match filter {
            Filter::FlateDecode => Self::Flate,
            Filter::LzwDecode => Self::Lzw,
            Filter::AsciiHexDecode => Self::Hex,
            Filter::Ascii85Decode => Self::Ascii85,
            Filter::RunLengthDecode => Self::RunLength,
            Filter::CcittFaxDecode
            | Filter::Jbig2Decode
            | Filter::DctDecode
            | Filter::JpxDecode
            | Filter::Crypt => Self::Other,
        }
    }
}

/// Unpacks only to count, and answers the final size. Each stage's size counts, as each stage's bytes lie in memory while the next one runs.
pub(crate) fn count(packed: &[u8], stages: &[Packing], most: u64) -> Result<u64, Refusal> {
    let too_large = Err(Refusal::LimitExceeded(Limit::StreamBytes));
    let mut current = Cow::Borrowed(packed);
    let mut size = widen(packed.len());
    for (at, stage) in stages.iter().enumerate() {
        let last = at + 1 == stages.len();
        match stage {
            Packing::Flate => {
                let Some((inflated, data)) = inflate(&current, most, !last) else { return too_large };
                size = inflated;
                current = Cow::Owned(data);
            }
            Packing::Lzw => {
                size = lzw_size(&current, most);
                if size > most || !last {
                    // LZW under another filter is what no producer writes and bombs like.
                    return too_large;
                }
            }
            Packing::Hex => {
                current = Cow::Owned(armour::hex(&current));
                size = widen(current.len());
            }
            Packing::Ascii85 => {
                current = Cow::Owned(armour::ascii85(&current));
                size = widen(current.len());
            }
            Packing::RunLength => {
                let Some(data) = armour::run_length(&current, most) else { return too_large };
                current = Cow::Owned(data);
                size = widen(current.len());
            }
            Packing::Other => {}
        }
    }
    Ok(size)
}

/// The size of inflated data, and the data itself when `keep`. Nothing as soon as it is more than `most`.
fn inflate(packed: &[u8], most: u64, keep: bool) -> Option<(u64, Vec<u8>)> {
    let zlib = read(ZlibDecoder::new(packed), most, keep)?;
    if zlib.0 > 0 { Some(zlib) } else { read(DeflateDecoder::new(packed), most, keep) }
}

fn read(mut from: impl Read, most: u64, keep: bool) -> Option<(u64, Vec<u8>)> {
    let mut buffer = vec![0_u8; 64 << 10];
    let mut size = 0_u64;
    let mut kept = Vec::new();
    loop {
        // What follows an error is lost to every reader.
        let got = from.read(&mut buffer).unwrap_or(0);
        if got == 0 {
            return Some((size, kept));
        }
        size = size.saturating_add(widen(got));
        if size > most {
            return None;
        }
        if keep {
            kept.extend_from_slice(buffer.get(..got).unwrap_or_default());
        }
    }
}

/// The size of LZW data, from the lengths of its codes alone.
fn lzw_size(packed: &[u8], most: u64) -> u64 {
    let mut lengths: Vec<u64> = Vec::with_capacity(4096);
    let mut size = 0_u64;
    let (mut bits, mut held, mut width) = (0_u32, 0_u32, 9_u32);
    let mut previous: Option<u64> = None;
    for byte in packed {
        bits = (bits << 8) | u32::from(*byte);
        held += 8;
        if held < width {
            continue;
        }
        held -= width;
        let code = (bits >> held) & ((1 << width) - 1);
        bits &= (1 << held) - 1;
        match code {
            256 => {
                lengths.clear();
                width = 9;
                previous = None;
                continue;
            }
            257 => break,
            _ => {}
        }
        let known = usize::try_from(code).unwrap_or(0);
        let length = match known.checked_sub(258) {
            None => 1,
            Some(at) => lengths.get(at).copied().or(previous.map(|l| l + 1)).unwrap_or(1),
        };
        size = size.saturating_add(length);
        if size > most {
            break;
        }
        if let Some(previous) = previous
            && lengths.len() < 4096 - 258
        {
            lengths.push(previous + 1);
        }
        previous = Some(length);
        width = match lengths.len() + 258 {
            0..=510 => 9,
            511..=1022 => 10,
            1023..=2046 => 11,
            _ => 12,
        };
    }
    size
}

fn worst_growth(filter: Filter) -> u64 {
    match filter {
        Filter::FlateDecode => 1032,
        Filter::LzwDecode => 2731,
        Filter::RunLengthDecode => 64,
        Filter::Ascii85Decode => 4,
        Filter::AsciiHexDecode
        | Filter::CcittFaxDecode
        | Filter::Jbig2Decode
        | Filter::DctDecode
        | Filter::JpxDecode
        | Filter::Crypt => 1,
    }
}

/// A length as a number of bytes.
pub(crate) fn widen(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
