//! What a stretch of history did to the mail of an epoch, however long it is: ids and nothing else
//! are held.

use std::collections::HashMap;

use super::{EMPTY, epochs::Layout};
use crate::git::{Change, Changed};

/// Mails that came and went.
pub(super) struct Events {
    layout: Layout,
    /// The place of the last word on an id, and whether it is there.
    last: HashMap<String, (usize, bool)>,
    count: usize,
    met: usize,
}

impl Events {
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            layout,
            last: HashMap::new(),
            count: 0,
            met: 0,
        }
    }

    /// Takes the next change of history.
    pub(super) fn tell(&mut self, change: Change<'_>) {
        match (self.layout, change.path, change.what) {
            // A mail takes the place of the one before; that one stays.
            (Layout::Second, "m", Changed::Added | Changed::Modified) => {
                self.note(change.after, true);
            }
            (Layout::Second, "d", Changed::Added | Changed::Modified) => {
                self.note(change.after, false);
            }
            (Layout::First, path, what) if is_mail(path) => {
                if what != Changed::Added {
                    self.note(change.before, false);
                }
                if what != Changed::Deleted {
                    self.note(change.after, true);
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, id: &str, here: bool) {
        self.met += 1;
        if EMPTY.contains(&id) {
            return;
        }
        self.count += 1;
        self.last.insert(id.to_owned(), (self.count, here));
    }

    /// Not even a mail that is gone.
    pub(super) fn is_empty(&self) -> bool {
        self.met == 0
    }

    /// Whether a mail is there in the end.
    pub(super) fn has(&self, id: &str) -> bool {
        self.last.get(id).is_some_and(|(_, here)| *here)
    }

    /// What is there in the end, in the order of history.
    pub(super) fn present(&self) -> Vec<String> {
        self.which(true)
    }

    /// What is not, in the order of history.
    pub(super) fn removed(&self) -> Vec<String> {
        self.which(false)
    }

    fn which(&self, wanted: bool) -> Vec<String> {
        let mut ids: Vec<(usize, &String)> = self
            .last
            .iter()
            .filter(|(_, (_, here))| *here == wanted)
            .map(|(id, (at, _))| (*at, id))
            .collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id.clone()).collect()
    }
}

/// `1f/` and 38 digits: the hash of a message id.
fn is_mail(path: &str) -> bool {
    let Some((folder, name)) = path.split_once('/') else {
        return false;
    };
    let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    folder.len() == 2 && name.len() == 38 && hex(folder) && hex(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change<'a>(what: Changed, path: &'a str, before: &'a str, after: &'a str) -> Change<'a> {
        Change {
            what,
            path,
            before,
            after,
        }
    }

    #[test]
    fn a_removal_takes_the_mail_it_names_and_not_the_one_before() {
        let mut events = Events::new(Layout::Second);
        events.tell(change(Changed::Added, "m", "0", "a"));
        events.tell(change(Changed::Modified, "m", "a", "b"));
        events.tell(change(Changed::Deleted, "m", "b", "0"));
        events.tell(change(Changed::Added, "d", "0", "a"));
        events.tell(change(Changed::Deleted, "d", "a", "0"));
        events.tell(change(Changed::Added, "m", "0", "c"));
        assert_eq!(events.present(), ["b", "c"]);
        assert_eq!(events.removed(), ["a"]);
    }

    #[test]
    fn in_the_first_format_files_are_mails() {
        let one = "aa/0123456789012345678901234567890123456a";
        let one = &one[..41];
        let mut events = Events::new(Layout::First);
        events.tell(change(Changed::Added, one, "0", "a"));
        events.tell(change(Changed::Modified, one, "a", "b"));
        events.tell(change(Changed::Added, "description", "0", "x"));
        assert_eq!(events.present(), ["b"]);
        assert_eq!(events.removed(), ["a"]);
        events.tell(change(Changed::Deleted, one, "b", "0"));
        assert!(events.present().is_empty());
    }
}
