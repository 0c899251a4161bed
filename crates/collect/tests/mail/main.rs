//! From archives to messages: Pony Mail's double, real git servers, a real public-inbox where there is
//! one.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod activity;
mod pony_mail;
mod public_inbox;
mod real_inbox;
mod resolving;
mod senders;
mod world;
