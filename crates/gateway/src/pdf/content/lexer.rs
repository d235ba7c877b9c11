//! Content streams, cut into operands and operators.
//!
//! The hot loop of the reader: nothing is allocated per operand. Arrays and dictionaries stay flat, as marks between their
//! members, and strings go into one buffer that is emptied after each operator.

use crate::pdf::refusal::{Limit, Refusal};

/// Operands before an operator. More than the standard's 513 entries happen only in long arrays of strings.
const MOST_OPERANDS: usize = 100_000;

/// One operand, or the beginning or end of a composed one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operand<'a> {
    /// Whole or real.
    Number(f64),
    /// Without its slash, escapes not undone.
    Name(&'a [u8]),
    /// A string's place in [`Lexer::strings`].
    Text(usize, usize),
    /// `[`
    Array,
    /// `]`
    EndArray,
    /// `<<`
    Dictionary,
    /// `>>`
    EndDictionary,
}

/// Cuts one content stream.
pub(crate) struct Lexer<'a> {
    rest: &'a [u8],
    nesting: usize,
    /// What came before the last operator.
    pub(crate) operands: Vec<Operand<'a>>,
    /// The bytes of all strings among the operands.
    pub(crate) strings: Vec<u8>,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(data: &'a [u8], nesting: usize) -> Self {
        Self { rest: data, nesting, operands: Vec::with_capacity(64), strings: Vec::with_capacity(256) }
    }

    /// The next operator; its operands are then in [`operands`](Self::operands). Nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&'a [u8]>, Refusal> {
        self.operands.clear();
        self.strings.clear();
        let mut depth = 0_usize;
        loop {
            let rest = skip_space(self.rest);
            let Some((first, tail)) = rest.split_first() else { return Ok(None) };
            self.rest = tail;
            match first {
                b'0'..=b'9' | b'+' | b'-' | b'.' => {
                    let (number, after) = number(rest);
                    self.rest = after;
                    self.push(Operand::Number(number));
                }
                b'/' => {
                    let length = tail.iter().take_while(|b| is_regular(**b)).count();
                    let (name, after) = tail.split_at_checked(length).unwrap_or((tail, &[]));
                    self.rest = after;
                    self.push(Operand::Name(name));
                }
                b'(' => self.literal(),
                b'<' if tail.first() == Some(&b'<') => {
                    self.rest = tail.get(1..).unwrap_or_default();
                    depth += 1;
                    self.push(Operand::Dictionary);
                }
                b'<' => self.hexadecimal(),
                b'>' => {
                    self.rest = tail.strip_prefix(b">").unwrap_or(tail);
                    depth = depth.saturating_sub(1);
                    self.push(Operand::EndDictionary);
                }
                b'[' => {
                    depth += 1;
                    self.push(Operand::Array);
                }
                b']' => {
                    depth = depth.saturating_sub(1);
                    self.push(Operand::EndArray);
                }
                b'{' | b'}' | b')' => {}
                b'%' => {
                    let length = tail.iter().take_while(|b| !matches!(b, b'\n' | b'\r')).count();
                    self.rest = tail.get(length..).unwrap_or_default();
                }
                _ => {
                    let length = rest.iter().take_while(|b| is_regular(**b)).count().max(1);
                    let (word, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                    self.rest = after;
                    match word {
                        b"true" | b"false" | b"null" => {}
                        // An operator inside an array means that the array never ended.
                        _ => return Ok(Some(word)),
                    }
                }
            }
            if depth > self.nesting {
                return Err(Refusal::LimitExceeded(Limit::Nesting));
            }
        }
    }

    fn push(&mut self, operand: Operand<'a>) {
        if self.operands.len() < MOST_OPERANDS {
            self.operands.push(operand);
        }
    }

    /// Skips the bytes of an inline picture: from after `ID` to after `EI`.
    pub(crate) fn skip_picture(&mut self) {
        let mut from = 0;
        while let Some(at) = self.rest.get(from..).and_then(|rest| memchr::memmem::find(rest, b"EI")) {
            let at = from + at;
            let before = at.checked_sub(1).and_then(|before| self.rest.get(before));
            let after = self.rest.get(at + 2..).unwrap_or_default();
            let spaced = before.is_none_or(|b| is_space(*b)) && after.first().is_none_or(|b| is_space(*b));
            let text = after.iter().take(12).all(|b| is_space(*b) || (32..127).contains(b));
            if spaced && text {
                self.rest = after;
                return;
            }
            from = at + 2;
        }
        self.rest = &[];
    }

    /// A string in parentheses; the first one is already read.
    fn literal(&mut self) {
        let start = self.strings.len();
        let mut depth = 1_usize;
        while let Some((first, tail)) = self.rest.split_first() {
            self.rest = tail;
            match first {
                b'\\' => self.escape(),
                b'(' => {
                    depth += 1;
                    self.strings.push(*first);
                }
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                    self.strings.push(*first);
                }
                b'\r' => {
                    self.rest = tail.strip_prefix(b"\n").unwrap_or(tail);
                    self.strings.push(b'\n');
                }
                _ => self.strings.push(*first),
            }
        }
        let end = self.strings.len();
        self.push(Operand::Text(start, end));
    }

    fn escape(&mut self) {
        let Some((first, tail)) = self.rest.split_first() else { return };
        self.rest = tail;
        let byte = match first {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'\n' => return,
            b'\r' => {
                self.rest = tail.strip_prefix(b"\n").unwrap_or(tail);
                return;
            }
            b'0'..=b'7' => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some((digit @ b'0'..=b'7', after)) = self.rest.split_first() else { break };
                    value = value * 8 + u32::from(digit - b'0');
                    self.rest = after;
                }
                u8::try_from(value & 0xFF).unwrap_or(0)
            }
            other => *other,
        };
        self.strings.push(byte);
    }

    /// A string in hexadecimal; its `<` is already read.
    fn hexadecimal(&mut self) {
        let start = self.strings.len();
        let mut high = None;
        while let Some((first, tail)) = self.rest.split_first() {
            self.rest = tail;
            let digit = match first {
                b'0'..=b'9' => first - b'0',
                b'a'..=b'f' => first - b'a' + 10,
                b'A'..=b'F' => first - b'A' + 10,
                b'>' => break,
                _ => continue,
            };
            match high.take() {
                None => high = Some(digit),
                Some(high) => self.strings.push(high * 16 + digit),
            }
        }
        if let Some(high) = high {
            self.strings.push(high * 16);
        }
        let end = self.strings.len();
        self.push(Operand::Text(start, end));
    }
}

/// A name with its escapes undone.
pub(crate) fn plain_name(name: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !name.contains(&b'#') {
        return name.into();
    }
    let digit = |at: usize| name.get(at).and_then(|b| char::from(*b).to_digit(16));
    let mut plain = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(byte) = name.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'#', Some(high), Some(low)) => {
                plain.push(u8::try_from(high * 16 + low).unwrap_or(0));
                at += 3;
            }
            _ => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    plain.into()
}

fn skip_space(data: &[u8]) -> &[u8] {
    let length = data.iter().take_while(|b| is_space(**b)).count();
    data.get(length..).unwrap_or_default()
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}

fn is_regular(byte: u8) -> bool {
    !is_space(byte) && !matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

/// A number, as forgiving as other readers are: `--5`, `1.2.3` and `5-3` all occur.
fn number(text: &[u8]) -> (f64, &[u8]) {
    let mut rest = text;
    let mut negative = false;
    while let Some((sign @ (b'-' | b'+'), tail)) = rest.split_first() {
        negative |= *sign == b'-';
        rest = tail;
    }
    let (mut whole, mut scale, mut fraction) = (0_f64, 1_f64, false);
    while let Some((first, tail)) = rest.split_first() {
        match first {
            b'0'..=b'9' => {
                if scale < 1e15 {
                    whole = whole * 10.0 + f64::from(first - b'0');
                    if fraction {
                        scale *= 10.0;
                    }
                }
            }
            b'.' if !fraction => fraction = true,
            // Anything else of a number's look belongs to it and is ignored.
            b'.' | b'-' => {
                let length = rest.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'.' | b'-')).count();
                rest = rest.get(length..).unwrap_or_default();
                break;
            }
            _ => break,
        }
        rest = tail;
    }
    let value = whole / scale;
    let value = if value.is_finite() { value } else { 0.0 };
    (if negative { -value } else { value }, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(data: &[u8]) -> (Vec<u8>, Vec<Operand<'_>>, Vec<u8>) {
        let mut lexer = Lexer::new(data, 256);
        let operator = lexer.next().unwrap().unwrap_or_default().to_vec();
        (operator, lexer.operands.clone(), lexer.strings.clone())
    }

    #[test]
    fn numbers_are_read_as_forgivingly_as_elsewhere() {
        let (operator, operands, _) = one(b"1 -2.5 .5 --3 4.5.6 +7 Tm");
        assert_eq!(operator, b"Tm");
        let numbers: Vec<f64> =
            operands.iter().map(|o| if let Operand::Number(n) = o { *n } else { f64::NAN }).collect();
        assert_eq!(numbers, [1.0, -2.5, 0.5, -3.0, 4.5, 7.0]);
    }

    #[test]
    fn strings_keep_nested_parentheses_and_lose_escapes() {
        let (_, operands, strings) = one(b"(a\\(b(c)\\101\\\r\nd) Tj");
        assert_eq!(operands, [Operand::Text(0, strings.len())]);
        assert_eq!(strings, b"a(b(c)Ad");
    }

    #[test]
    fn an_odd_hexadecimal_string_ends_with_a_zero() {
        let (_, _, strings) = one(b"<48 65 6C7> Tj");
        assert_eq!(strings, b"Help");
    }

    #[test]
    fn names_lose_their_escapes() {
        assert_eq!(plain_name(b"A#20B#"), b"A B#".as_slice());
    }

    #[test]
    fn nesting_beyond_the_limit_is_refused() {
        let deep = vec![b'['; 300];
        let mut lexer = Lexer::new(&deep, 256);
        assert_eq!(lexer.next(), Err(Refusal::LimitExceeded(Limit::Nesting)));
        let mut lexer = Lexer::new(&deep[..200], 256);
        assert_eq!(lexer.next(), Ok(None));
    }

    #[test]
    fn an_inline_picture_is_skipped_with_what_looks_like_its_end() {
        let mut lexer = Lexer::new(b"\x01\x02 EI \xFF\x00 more\nEI\nBT", 256);
        lexer.skip_picture();
        assert_eq!(lexer.next(), Ok(Some(b"BT".as_slice())));
    }
}
