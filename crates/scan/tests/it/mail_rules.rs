//! Classification by the shipped rules and by ones from configuration.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its input has failed"
)]

use std::collections::BTreeMap;

use scan::mail::classify::{Class, Mail, Rules, RulesError, Source};
use scan::mail::{self, Hint};

fn class(system: &str, subject: &str, from: &str, list_id: &str) -> &'static str {
    let mail = Mail {
        subject,
        from,
        list_id,
        ..Mail::default()
    };
    Rules::shipped(system)
        .unwrap()
        .classify(&mail)
        .class
        .as_str()
}

#[test]
fn subjects_of_apache_lists() {
    let dev = "<dev.project.apache.org>";
    let cases = [
        (
            "[jira] [Created] (PROJ-1) x",
            "J (Jira) <jira@apache.org>",
            "issue_event",
        ),
        (
            "[jira] Commented: (PROJ-1) x",
            "J (JIRA) <jira@apache.org>",
            "issue_event",
        ),
        (
            "[jira] [Comment Edited] (PROJ-1) x",
            "J (Jira) <jira@apache.org>",
            "issue_event",
        ),
        (
            "Re: [jira] [Created] (PROJ-1) x",
            "Jane <jane@x.org>",
            "discuss",
        ),
        (
            "DO NOT REPLY [Bug 4711] x",
            "bugzilla@apache.org",
            "issue_event",
        ),
        ("[Bug 4711] x", "bugzilla@apache.org", "issue_event"),
        (
            "(project) branch main updated: x",
            "a@apache.org",
            "commit_notify",
        ),
        ("[project] 01/02: x", "a@apache.org", "commit_notify"),
        (
            "[project] tag v1 created (now 1234567)",
            "a@apache.org",
            "commit_notify",
        ),
        (
            "svn commit: r1234 - in /project/trunk: a b",
            "a@apache.org",
            "commit_notify",
        ),
        (
            "Re: svn commit: r1234 - in /project/trunk: a b",
            "Jane <jane@x.org>",
            "discuss",
        ),
        (
            "[GH] (project): Workflow run failed",
            "GitBox <git@apache.org>",
            "github_mirror",
        ),
        ("[VOTE] Release 1.0", "Jane <jane@x.org>", "vote"),
        ("Re: [VOTE] Release 1.0", "Jane <jane@x.org>", "vote"),
        ("[VOTE][RESULT] Release 1.0", "Jane <jane@x.org>", "result"),
        ("[RESULT] [VOTE] Release 1.0", "Jane <jane@x.org>", "result"),
        ("[VOTE RESULT] Release 1.0", "Jane <jane@x.org>", "result"),
        ("[CANCEL][VOTE] Release 1.0", "Jane <jane@x.org>", "vote"),
        (
            "[ANNOUNCE] Project 1.0 released",
            "Jane <jane@x.org>",
            "announce",
        ),
        (
            "[ANN] Project 1.0 released",
            "Jane <jane@x.org>",
            "announce",
        ),
        (
            "Re: [ANNOUNCE] New committer",
            "Jane <jane@x.org>",
            "discuss",
        ),
        ("[DISCUSS] Project 2.0", "Jane <jane@x.org>", "discuss"),
        (
            "Build failed in Jenkins: project #1",
            "Apache Jenkins Server <jenkins@builds.apache.org>",
            "unclassified",
        ),
        (
            "Re: Build failed in Jenkins: project #1",
            "Jane <jane@x.org>",
            "discuss",
        ),
        (
            "CVE-2021-12345: Apache Project: a hole",
            "Jane <jane@x.org>",
            "announce",
        ),
        (
            "[SECURITY] CVE-2021-12345 Apache Project",
            "Jane <jane@x.org>",
            "announce",
        ),
        (
            "Upgrade because of CVE-2021-12345",
            "Jane <jane@x.org>",
            "discuss",
        ),
        ("Results of the survey", "Jane <jane@x.org>", "discuss"),
        (
            "How should we vote on this?",
            "Jane <jane@x.org>",
            "discuss",
        ),
        (
            "Out of office: back on Monday",
            "Jane <jane@x.org>",
            "unclassified",
        ),
    ];
    for (subject, from, want) in cases {
        assert_eq!(class("apache", subject, from, dev), want, "{subject}");
    }
}

#[test]
fn lists_decide_where_subjects_do_not() {
    let jane = "Jane <jane@x.org>";
    for (list, want) in [
        ("<users.project.apache.org>", "support"),
        ("Users <project-user.x.org>", "support"),
        ("<users-de.openoffice.apache.org>", "support"),
        ("<commits.project.apache.org>", "commit_notify"),
        ("<project-commits.x.org>", "commit_notify"),
        ("<announce.apache.org>", "announce"),
        ("<git.vger.kernel.org>", "discuss"),
        ("", "discuss"),
    ] {
        assert_eq!(class("apache", "Something", jane, list), want, "{list}");
    }
    assert_eq!(
        class(
            "apache",
            "Re: Something",
            jane,
            "<commits.project.apache.org>"
        ),
        "discuss"
    );
    let by_address = Mail {
        subject: "Help",
        list_address: "users@project.apache.org",
        ..Mail::default()
    };
    assert_eq!(
        Rules::shipped("apache")
            .unwrap()
            .classify(&by_address)
            .class,
        Class::Support
    );
}

#[test]
fn patches_and_reviews_on_kernel_lists() {
    let (hacker, list) = ("H <h@x.org>", "<list.vger.kernel.org>");
    for (subject, want) in [
        ("[PATCH v2 1/3] x", "patch_submission"),
        ("[GSoC][PATCH] x", "patch_submission"),
        ("[net,v2,1/2] x", "patch_submission"),
        ("[PULL 0/5] x", "patch_submission"),
        ("[git pull] drm fixes", "patch_submission"),
        ("Re: [PATCH v2 1/3] x", "review"),
        ("AW: [RFC PATCH] x", "review"),
        ("Fwd: [PATCH] x", "discuss"),
        ("[RFC] how to go on", "discuss"),
        ("[tip: x86/urgent] x86: x", "commit_notify"),
        ("[Bug 1] x", "issue_event"),
        ("[ANNOUNCE] Thing v1", "announce"),
    ] {
        assert_eq!(class("lore", subject, hacker, list), want, "{subject}");
    }
    let robot = "kernel test robot <lkp@intel.com>";
    assert_eq!(
        class("lore", "[tree:master 12/34] a.c:1: warning", robot, list),
        "unclassified"
    );
    assert_eq!(class("lore", "Re: [PATCH] x", robot, list), "review");
}

#[test]
fn mail_of_other_communities() {
    let jane = "Jane <jane@x.org>";
    for (subject, from, list, want) in [
        (
            "[owner/repo] A title (#12)",
            "octo <notifications@github.com>",
            "",
            "github_mirror",
        ),
        (
            "Re: [owner/repo] A title (PR #12)",
            "octo <notifications@github.com>",
            "",
            "github_mirror",
        ),
        (
            "[owner/repo] 0a1b2c: message",
            "octo <noreply@github.com>",
            "",
            "commit_notify",
        ),
        (
            "Re: project | A title (!34)",
            "Jane <gitlab@mg.gitlab.com>",
            "",
            "github_mirror",
        ),
        (
            "[llvm] 0a1b2c3 - message",
            jane,
            "<llvm-commits.lists.llvm.org>",
            "commit_notify",
        ),
        (
            "[gcc r12-3456] message",
            jane,
            "<gcc-cvs.gcc.gnu.org>",
            "commit_notify",
        ),
        (
            "git: 0a1b2c3d4e5f - main - message",
            jane,
            "",
            "commit_notify",
        ),
        (
            "pgsql: message",
            jane,
            "<pgsql-committers.lists.postgresql.org>",
            "commit_notify",
        ),
        (
            "bug#4711: 29; crash",
            jane,
            "<bug-gnu-emacs.gnu.org>",
            "issue_event",
        ),
        (
            "[issue4711] crash",
            "Jane <report@bugs.python.org>",
            "",
            "issue_event",
        ),
        (
            "[Bug middle-end/4711] New: crash",
            "jane at gcc dot gnu.org <gcc-bugzilla@gcc.gnu.org>",
            "",
            "issue_event",
        ),
        (
            "[JIRA] (JENKINS-1) crash",
            "jane@x.org (JIRA) <jira@x.org>",
            "",
            "issue_event",
        ),
        ("How to?", jane, "<help-bash.gnu.org>", "support"),
        ("How to?", jane, "<r-help.r-project.org>", "support"),
        (
            "News",
            jane,
            "<debian-security-announce.lists.debian.org>",
            "announce",
        ),
        (
            "Review Request 123: title",
            "Jane <noreply@reviews.x.org>",
            "",
            "patch_submission",
        ),
        (
            "Re: Review Request 123: title",
            "Jane <noreply@reviews.x.org>",
            "",
            "review",
        ),
        ("[PATCH 1 of 3] title", jane, "", "patch_submission"),
    ] {
        assert_eq!(class("generic", subject, from, list), want, "{subject}");
    }
}

#[test]
fn place_in_a_thread_and_diffs_count() {
    let rules = Rules::shipped("lore").unwrap();
    let reply = Mail {
        subject: "Re: other words now",
        in_patch_thread: true,
        ..Mail::default()
    };
    let found = rules.classify(&reply);
    assert_eq!((found.class, found.source), (Class::Review, Source::Thread));
    let diff = "Fix\n\nSigned-off-by: A <a@x>\n---\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    let rfc = Mail {
        subject: "[RFC] do it",
        body: diff,
        ..Mail::default()
    };
    assert_eq!(rules.classify(&rfc).class, Class::PatchSubmission);
    let untagged = Mail {
        subject: "do it",
        body: diff,
        ..Mail::default()
    };
    assert_eq!(rules.classify(&untagged).class, Class::PatchSubmission);
}

#[test]
fn parsed_mail_with_its_headers() {
    let classify = |name: &str, system: &str| {
        let path = format!("{}/testdata/mail/{name}", env!("CARGO_MANIFEST_DIR"));
        let message = mail::parse(&std::fs::read(path).unwrap(), Hint::default());
        Rules::shipped(system)
            .unwrap()
            .classify(&Mail::from(&message))
    };
    let jira = classify("jira.eml", "apache");
    assert_eq!(
        (jira.class, jira.rule.as_str(), jira.source),
        (Class::IssueEvent, "apache/jira", Source::Subject)
    );
    assert_eq!(jira.captures["external_key"], "PROJ-77");
    assert_eq!(jira.captures["action"], "Work logged");
    let mirror = classify("gitbox.eml", "apache");
    assert_eq!(mirror.class, Class::GithubMirror);
    assert_eq!(mirror.captures["node_id"], "PR_kwDOABCDEF5abcDE");
    assert_eq!(mirror.captures["owner"], "apache");
    assert_eq!(mirror.captures["repo"], "project-rs");
    assert_eq!(mirror.captures["number"], "321");
    assert_eq!(mirror.captures["kind"], "pull");
    assert_eq!(mirror.captures["actor"], "octo");
    assert_eq!(
        classify("patch.eml", "generic").class,
        Class::PatchSubmission
    );
}

#[test]
fn keys_in_subjects_are_no_charsets() {
    let rules = Rules::shipped("apache").unwrap();
    let key = |subject: &str| {
        let found = rules.classify(&Mail {
            subject,
            ..Mail::default()
        });
        found.captures.get("external_key").cloned()
    };
    assert_eq!(
        key("UTF-8 in PROJ-12 and CVE-2021-29425").as_deref(),
        Some("PROJ-12")
    );
    assert_eq!(key("CVE-2021-29425 and SHA-256"), None);
    assert_eq!(key("GH-1234: fix").as_deref(), Some("GH-1234"));
}

#[test]
fn rules_can_be_replaced_and_are_checked() {
    let own = r#"
        system = "house"
        include = ["generic"]
        [[rule]]
        name = "party"
        class = "announce"
        subject = '(?i)^party at (?P<place>\w+)'
    "#;
    let load = |text: &str| {
        let overrides = BTreeMap::from([("house".to_owned(), text.to_owned())]);
        Rules::load("house", &overrides)
    };
    let rules = load(own).unwrap();
    let found = rules.classify(&Mail {
        subject: "Party at noon",
        ..Mail::default()
    });
    assert_eq!(
        (found.rule.as_str(), found.captures["place"].as_str()),
        ("house/party", "noon")
    );
    let fallback = rules.classify(&Mail {
        subject: "[VOTE] x",
        ..Mail::default()
    });
    assert_eq!(fallback.rule, "generic/vote");

    assert!(matches!(load("system = 1"), Err(RulesError::Syntax { .. })));
    assert!(matches!(
        load(&own.replace("(?i)", "(")),
        Err(RulesError::Pattern { .. })
    ));
    assert!(matches!(
        load(&own.replace("announce", "party")),
        Err(RulesError::Syntax { .. })
    ));
    assert!(matches!(
        load(&own.replace("generic", "house")),
        Err(RulesError::IncludeLoop(_))
    ));
    assert!(matches!(
        Rules::shipped("nowhere"),
        Err(RulesError::UnknownSystem(_))
    ));
}

#[test]
fn every_class_has_its_word() {
    let words: Vec<&str> = Class::ALL.iter().map(|class| class.as_str()).collect();
    for class in Class::ALL {
        assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
    }
    assert_eq!(words.len(), 11);
}
