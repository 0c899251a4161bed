//! Senders that are nobody: robots, trackers, lists.

/// Names before the `@` that no person has.
const ROBOTS: &[&str] = &[
    "jira",
    "git",
    "gitbox",
    "svn",
    "jenkins",
    "hudson",
    "buildbot",
    "builds",
    "ci",
    "notifications",
    "notification",
    "noreply",
    "no-reply",
    "donotreply",
    "do-not-reply",
    "mailer-daemon",
    "postmaster",
    "root",
    "www-data",
    "nobody",
    "automation",
    "github-actions",
    "wiki-changes",
    "confluence",
    "gerrit",
    "lkp",
    "syzbot",
    "patchwork-bot",
    "pr-tracker-bot",
];

/// Whether mail from here is never a person's. `list` is the address of the list it came over: some
/// lists write in the place of the sender.
pub(super) fn is_automation(email: &str, name: Option<&str>, list: &str) -> bool {
    let (user, host) = email.rsplit_once('@').unwrap_or((email, ""));
    let plain = user.split('+').next().unwrap_or(user);
    // `12345+login@users.noreply.github.com` is a person who hides.
    if host == "users.noreply.github.com" {
        return user.contains("[bot]") || user.contains("%5bbot%5d");
    }
    let named = name.unwrap_or_default().to_ascii_lowercase();
    email == list
        || ROBOTS.contains(&plain)
        || plain.starts_with("bugzilla")
        || plain.ends_with("-bot")
        || plain.ends_with("[bot]")
        || plain.starts_with("syzbot")
        || plain.ends_with("-noreply")
        || named.ends_with("[bot]")
        || named.ends_with("(jira)")
        || named.ends_with("(via github)")
        || host == "bugzilla.kernel.org"
        || host.starts_with("gitbox.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_from_robots() {
        let list = "dev@maven.apache.org";
        for robot in [
            "jira@apache.org",
            "jira+kafka@apache.org",
            "git@git.apache.org",
            "gitbox@apache.org",
            "bugzilla-daemon@kernel.org",
            "dev@maven.apache.org",
            "dependabot[bot]@users.noreply.github.com",
            "noreply@github.com",
        ] {
            assert!(is_automation(robot, None, list), "{robot}");
        }
        for person in [
            "ada@example.org",
            "123+ada@users.noreply.github.com",
            "jiraiya@example.org",
            "talbot@example.org",
        ] {
            assert!(!is_automation(person, Some("Ada"), list), "{person}");
        }
        assert!(is_automation(
            "x@apache.org",
            Some("ada (via GitHub)"),
            list
        ));
    }
}
