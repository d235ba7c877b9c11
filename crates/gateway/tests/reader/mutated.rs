//! Damaged files: whatever is done to a file, reading it ends soon, and with an answer.

use redrive_gateway::pdf::{self, Ask, Limits};
use redrive_gateway::sample;
use std::time::{Duration, Instant};

/// Longer than any file of these sizes may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A small generator of numbers; the seed says which file it was.
struct Draw(u64);

impl Draw {
    fn new(seed: u64) -> Self {
        let mut draw = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            draw.next();
        }
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }
}

/// Flips bits, changes numbers, swaps and copies ranges, cuts the end off.
fn mutate(file: &mut Vec<u8>, draw: &mut Draw) {
    for _ in 0..=draw.below(20) {
        let length = file.len();
        if length < 10 {
            return;
        }
        let (a, b) = (draw.below(length), draw.below(length));
        match draw.below(8) {
            0..=2 => file[a] ^= 1 << draw.below(8),
            3 => file[a] = u8::try_from(draw.below(256)).unwrap(),
            4 if draw.below(4) == 0 => file.truncate(a),
            5 => {
                let count = draw.below(400).min(length - a.max(b));
                for at in 0..count {
                    file.swap(a + at, b + at);
                }
            }
            6 => {
                let end = (a + draw.below(60)).min(length);
                let part = file[a..end].to_vec();
                file.splice(b..b, part);
            }
            _ => {
                if let Some(digit) = file[a..].iter().position(u8::is_ascii_digit) {
                    file[a + digit] = b'0' + u8::try_from(draw.below(10)).unwrap();
                }
            }
        }
    }
}

fn survive(files: &[Vec<u8>], seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut draw = Draw::new(seed);
        let mut file = files[draw.below(files.len())].clone();
        mutate(&mut file, &mut draw);
        let start = Instant::now();
        // A panic fails the test and names no seed, so the seed is said first; only failures show it.
        println!("seed {seed}");
        let _ = pdf::read(file.clone(), &Ask::default());
        let _ = pdf::inspect(file, &Limits::default());
        assert!(start.elapsed() < PATIENCE, "seed {seed} took {:?}", start.elapsed());
    }
    let peak = peak_memory();
    assert!(peak.is_none_or(|peak| peak < 1 << 20), "peak memory was {peak:?} KiB");
}

/// In KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Small files with much structure, so that nearly every change hits something.
fn small() -> Vec<Vec<u8>> {
    let text =
        "BT /F1 10 Tf 50 700 Td [(Some) -250 (text) 20 (here)] TJ T* (more) ' ET /P <</MCID 0>> BDC EMC";
    vec![sample::hello(), sample::pages(&[text, text, "q 1 0 0 1 5 5 cm Q BI /W 1 ID x EI"])]
}

#[test]
fn damaged_files_end_with_an_answer() {
    survive(&small(), 0..400);
}

#[test]
fn long_five_thousand_damaged_files_end_with_an_answer() {
    let mut files = small();
    files.extend(crate::samples::files().into_iter().map(|path| std::fs::read(path).unwrap()));
    survive(&files, 1_000..6_000);
}
