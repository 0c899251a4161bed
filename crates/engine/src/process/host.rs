//! What a machine knows of itself and of its processes.

use std::{
    fmt,
    fs::{read_link, read_to_string},
    process::{Command, Stdio},
};

/// The facts by which a process is known again after a restart. Calls may block
/// for a moment; the engine makes them where that harms nobody.
pub trait HostFacts: fmt::Debug + Send + Sync + 'static {
    /// Which machine this is: the same after a reboot and under another name,
    /// and no other machine's.
    fn machine(&self) -> String;

    /// Its name, for people.
    fn name(&self) -> String;

    /// In what space pids mean something: another boot, or another pid
    /// namespace, has another. `None` where the system does not tell.
    fn boot(&self) -> Option<String>;

    /// When this pid started, in whatever words the system has, as long as they
    /// stay the same. `None`: there is no such process, or it has ended.
    fn started(&self, pid: u32) -> Option<String>;
}

/// The machine we are on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisHost;

impl HostFacts for ThisHost {
    /// The machine id, which outlives names and boots. Without one the name must do.
    fn machine(&self) -> String {
        ["/etc/machine-id", "/var/lib/dbus/machine-id"]
            .iter()
            .filter_map(|path| line(path))
            .find(|id| id.len() >= 32)
            .unwrap_or_else(|| format!("name:{}", self.name()))
    }

    fn name(&self) -> String {
        line("/proc/sys/kernel/hostname")
            .or_else(|| line("/etc/hostname"))
            .or_else(|| std::env::var("HOSTNAME").ok())
            .unwrap_or_else(|| "localhost".to_owned())
    }

    /// The boot id and the pid namespace. A container that was started again
    /// has a new namespace, and nothing of the old one is alive.
    fn boot(&self) -> Option<String> {
        let boot = line("/proc/sys/kernel/random/boot_id")?;
        let space = read_link("/proc/self/ns/pid").unwrap_or_default();
        Some(format!("{boot} {}", space.display()))
    }

    fn started(&self, pid: u32) -> Option<String> {
        if line("/proc/self/stat").is_some() {
            return start_in_stat(&line(&format!("/proc/{pid}/stat"))?);
        }
        start_by_ps(pid)
    }
}

/// The start time in the text of `/proc/PID/stat`; none for a process that has
/// ended and was not fetched by its parent: it still answers to signals.
pub(super) fn start_in_stat(stat: &str) -> Option<String> {
    // The second field is the name, in parentheses, and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    // Of those behind the name, state is the 1st and the start time the 20th.
    let ticks = fields.nth(18)?;
    let ended = matches!(state, "Z" | "X" | "x");
    (!ended && ticks.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("ticks {ticks}"))
}

/// Where there is no `/proc`.
fn start_by_ps(pid: u32) -> Option<String> {
    let pid = pid.to_string();
    let told = Command::new("ps")
        .args(["-o", "stat=,lstart=", "-p", &pid])
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    start_in_ps(&String::from_utf8_lossy(&told.stdout))
}

fn start_in_ps(told: &str) -> Option<String> {
    let (state, start) = told.trim().split_once(char::is_whitespace)?;
    let start = start.trim();
    (!state.starts_with('Z') && !start.is_empty()).then(|| start.to_owned())
}

fn line(path: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_time_is_read_past_any_name() {
        let stat = "77 (a ) b (c) S 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 9 10 11";
        assert_eq!(start_in_stat(stat).as_deref(), Some("ticks 123456"));
        assert_eq!(start_in_stat(&stat.replace(") S ", ") Z ")), None);
        assert_eq!(start_in_stat("77 (a"), None);
        assert_eq!(start_in_stat(""), None);
    }

    #[test]
    fn ps_tells_when_a_process_started() {
        let told = "Ss   Mon Mar  2 10:11:12 2026\n";
        assert_eq!(
            start_in_ps(told).as_deref(),
            Some("Mon Mar  2 10:11:12 2026")
        );
        assert_eq!(start_in_ps("Z    Mon Mar  2 10:11:12 2026\n"), None);
        assert_eq!(start_in_ps("\n"), None);
    }

    #[test]
    fn both_ways_know_this_process_and_not_one_that_cannot_be() {
        let own = std::process::id();
        assert_eq!(ThisHost.started(own), ThisHost.started(own));
        assert!(ThisHost.started(own).is_some());
        assert_eq!(ThisHost.started(u32::MAX), None);
        assert!(!ThisHost.machine().is_empty());
    }
}
