//! Distribution in the simulated world, through the real client and the real engine.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod at_forges;
mod depsdev;
mod depsdev_faults;
mod ecosystems;
mod events;
mod few_calls;
mod forge_corpus;
mod forge_faults;
mod forge_truth;
mod grades;
mod incidents;
mod names;
mod pairing;
mod plain_hosts;
mod registry_answers;
mod registry_world;
mod second_pass;
mod whole_round;
mod whole_world;
