//! The newest of something, as far as anybody promises it.
//!
//! Within one call with several jobs nobody promises which of them comes last: any of them may be the newest.

/// What one call left, and the last of it.
#[derive(Debug, Clone)]
pub(crate) struct Newest<T> {
    call: u64,
    of_call: Vec<T>,
}

impl<T: PartialEq> Newest<T> {
    pub(crate) const fn none() -> Self {
        Self { call: 0, of_call: Vec::new() }
    }

    /// Something came with this call.
    pub(crate) fn push(&mut self, call: u64, value: T) {
        if self.call != call {
            self.of_call.clear();
        }
        self.call = call;
        self.of_call.push(value);
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.of_call.last()
    }

    /// Whether a store may show this as the newest.
    pub(crate) fn may_be(&self, value: &T) -> bool {
        self.of_call.contains(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_of_the_newest_call_may_be_the_newest() {
        let mut newest = Newest::none();
        newest.push(1, 'a');
        newest.push(2, 'b');
        newest.push(2, 'c');
        assert_eq!(newest.last(), Some(&'c'));
        assert!(newest.may_be(&'b') && newest.may_be(&'c') && !newest.may_be(&'a'));
    }
}
