//! CPU time of this process and of all that it started.

use std::{collections::HashMap, fs};

/// As the kernel counts for `/proc` on every system that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU seconds so far: our own, those of ended children, and those of all that live below us.
pub(crate) fn spent() -> f64 {
    let mut below: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut times: HashMap<u32, f64> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some((parent, seconds)) = read(pid) {
            below.entry(parent).or_default().push(pid);
            times.insert(pid, seconds);
        }
    }
    let (mut all, mut open) = (0.0, vec![std::process::id()]);
    while let Some(pid) = open.pop() {
        all += times.get(&pid).copied().unwrap_or_default();
        open.extend(below.remove(&pid).unwrap_or_default());
    }
    all
}

/// The parent of a process, and its time with that of its ended children.
fn read(pid: u32) -> Option<(u32, f64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything: state is field 3, the parent 4, the times 14 to 17.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    let ticks: f64 = fields
        .get(11..15)?
        .iter()
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    Some((parent, ticks / TICKS_PER_SECOND))
}
