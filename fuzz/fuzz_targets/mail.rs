//! Any archive of mail: cut, parsed and classified without a panic, and every message has an id.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scan::mail::classify::{Mail, Rules};
use scan::mail::{Hint, mbox, parse};

fuzz_target!(|archive: &[u8]| {
    let rules = ["apache", "lore", "generic"].map(|system| Rules::shipped(system).expect("ours"));
    let mut messages = mbox::split(archive);
    while let Some(message) = messages.next_message().expect("bytes in memory") {
        let envelope = message.envelope.as_ref();
        let parsed = parse(&message.bytes, Hint { envelope });
        assert!(!parsed.message_id.is_empty());
        let _ = (parsed.new_text(), parsed.content_hash());
        for rules in rules {
            rules.classify(&Mail::from(&parsed));
        }
    }
});
