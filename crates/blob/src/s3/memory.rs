//! Memory for bodies on their way, bounded for all uploads together.
//!
//! A block keeps its share until the last byte of it has left, whoever holds it by then, and large blocks are used again
//! instead of being given back: an allocator that keeps what was freed would make the bound a wish.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Result;
use crate::error::BlobError;

/// A block up to this size is not kept for use again.
const SMALL: u64 = 1 << 20;

/// All memory that one bucket's uploads may hold.
#[derive(Debug)]
pub(super) struct Memory {
    /// Permits in KiB.
    left: Arc<Semaphore>,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
    all: u64,
    part: u64,
}

/// A share of the memory, not yet filled.
pub(super) struct Share {
    block: Block,
}

struct Block {
    bytes: Vec<u8>,
    kept: Option<Arc<Mutex<Vec<Vec<u8>>>>>,
    _permit: OwnedSemaphorePermit,
}

impl Memory {
    /// `all` bytes, in blocks of `part` bytes for what is not small.
    pub(super) fn new(all: u64, part: u64) -> Self {
        let permits = usize::try_from(all >> 10).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { left: Arc::new(Semaphore::new(permits)), kept: Arc::default(), all, part }
    }

    /// Waits until a body of so many bytes may be held. One that is larger than everything waits for everything.
    pub(super) async fn share(&self, bytes: u64) -> Result<Share> {
        let pooled = bytes > SMALL && bytes <= self.part;
        let counted = if pooled { self.part } else { bytes };
        let permits = u32::try_from(counted.min(self.all) >> 10).unwrap_or(u32::MAX).max(1);
        let permit = Arc::clone(&self.left).acquire_many_owned(permits).await;
        let permit = permit.map_err(|_| BlobError::io("the place was closed"))?;
        let kept = pooled.then(|| Arc::clone(&self.kept));
        let again = kept.as_ref().and_then(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner).pop());
        let mut block = again.unwrap_or_default();
        let capacity = usize::try_from(counted).unwrap_or(usize::MAX);
        block.reserve_exact(capacity.saturating_sub(block.len()));
        block.resize(usize::try_from(bytes).unwrap_or(usize::MAX), 0);
        Ok(Share { block: Block { bytes: block, kept, _permit: permit } })
    }
}

impl Share {
    /// Where the bytes go.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.block.bytes
    }

    /// The filled block. Its share is given back when the last clone is dropped.
    pub(super) fn freeze(self) -> Bytes {
        Bytes::from_owner(self.block)
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn a_share_waits_until_the_last_byte_of_another_is_gone() {
        let memory = Memory::new(10 << 20, 5 << 20);
        let one = memory.share(2 << 20).await.unwrap().freeze();
        let two = memory.share(5 << 20).await.unwrap().freeze();
        assert_eq!((one.len(), two.len()), (2 << 20, 5 << 20));
        let tail = two.slice((5 << 20) - 1..);
        drop(two);
        let mut third = std::pin::pin!(memory.share(5 << 20));
        assert!(poll!(&mut third).is_pending(), "a slice of one byte holds the whole block");
        drop(tail);
        assert_eq!(third.await.unwrap().bytes().len(), 5 << 20);
    }

    #[tokio::test]
    async fn large_blocks_are_used_again_and_hold_what_they_say() {
        let memory = Memory::new(5 << 20, 5 << 20);
        for n in 0..4_u8 {
            let length = (5 << 20) - usize::from(n);
            let mut share = memory.share(length as u64).await.unwrap();
            share.bytes().fill(n);
            let block = share.freeze();
            assert!(block.len() == length && block.iter().all(|byte| *byte == n));
            drop(block);
            assert_eq!(memory.kept.lock().unwrap().len(), 1);
        }
        drop(memory.share(1_000).await.unwrap());
        drop(memory.share(50 << 20).await.unwrap());
        assert_eq!(memory.kept.lock().unwrap().len(), 1, "only blocks of the usual size are kept");
    }
}
