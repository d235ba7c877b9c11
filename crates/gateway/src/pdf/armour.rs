//! The small packings: hexadecimal, base 85 and run lengths.
//!
//! Needed only to see how large a suspicious stream becomes; see [`unpack`](super::unpack).

/// Undoes hexadecimal; whatever is no digit is left out.
pub(crate) fn hex(packed: &[u8]) -> Vec<u8> {
    let mut digits = packed.iter().take_while(|b| **b != b'>').filter_map(|b| char::from(*b).to_digit(16));
    let mut out = Vec::with_capacity(packed.len() / 2);
    while let Some(high) = digits.next() {
        let low = digits.next().unwrap_or(0);
        out.push(u8::try_from(high * 16 + low).unwrap_or(0));
    }
    out
}

/// Undoes base 85.
pub(crate) fn ascii85(packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(packed.len());
    let (mut value, mut held) = (0_u32, 0_usize);
    for byte in packed {
        match byte {
            b'z' if held == 0 => out.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => {
                value = value.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                held += 1;
                if held == 5 {
                    out.extend_from_slice(&value.to_be_bytes());
                    (value, held) = (0, 0);
                }
            }
            b'~' => break,
            _ => {}
        }
    }
    if held > 1 {
        for _ in held..5 {
            value = value.wrapping_mul(85).wrapping_add(84);
        }
        out.extend(value.to_be_bytes().iter().take(held - 1));
    }
    out
}

/// Undoes run lengths; nothing if that makes more than `most` bytes.
pub(crate) fn run_length(packed: &[u8], most: u64) -> Option<Vec<u8>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut out = Vec::new();
    let mut rest = packed.iter();
    while let Some(length) = rest.next() {
        match length {
            128 => break,
            0..=127 => out.extend(rest.by_ref().take(usize::from(*length) + 1)),
            129..=255 => {
                let byte = rest.next()?;
                out.extend(std::iter::repeat_n(*byte, 257 - usize::from(*length)));
            }
        }
        if out.len() > most {
            return None;
        }
    }
    Some(out)
}
