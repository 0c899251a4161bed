//! Keys that have been replaced: two minor versions with a warning, then refused.

/// A replaced key. The value has the same form under the new name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deprecated {
    /// `section.key`, as it was.
    pub(crate) old: &'static str,
    /// Section and key to use instead.
    pub(crate) replacement: (&'static str, &'static str),
    /// The first version that warned, major and minor.
    pub(crate) warned_since: (u64, u64),
}

/// To replace a key, add a line here in the same change.
pub(super) const DEPRECATED: &[Deprecated] = &[];

/// What becomes of a replaced key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Warned,
    Refused,
}

impl Deprecated {
    /// The first version that refuses it: two minor versions later, and every later major one.
    pub(super) fn refused_since(&self) -> (u64, u64) {
        let (major, minor) = self.warned_since;
        (major, minor + 2)
    }

    pub(super) fn stage(&self, version: (u64, u64)) -> Stage {
        if version >= self.refused_since() {
            Stage::Refused
        } else {
            Stage::Warned
        }
    }
}

/// Major and minor of this binary.
pub(super) fn this_version() -> (u64, u64) {
    let number = |text: &str| text.parse().unwrap_or(0);
    (
        number(env!("CARGO_PKG_VERSION_MAJOR")),
        number(env!("CARGO_PKG_VERSION_MINOR")),
    )
}
