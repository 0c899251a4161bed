//! Mail over HTTP, from the binary that serves it; an Apache site that lacks nothing; the
//! repositories of a foundation's projects.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Stdio,
};

use serde_json::Value;

use crate::{
    sandbox::Sandbox,
    serving::{started_and_said, terminate},
};

const DEV: &str = "dev@meadow.apache.org";

/// An archive with a tracker's mail, talk and an answer, a vote, a mirror and a push.
fn archive() -> String {
    let mail = |id: &str, from: &str, subject: &str, more: &str| {
        format!(
            "From x@example.org Sun Nov 12 15:15:09 2017\nFrom: {from}\nTo: {DEV}\nSubject: {subject}\n\
             Message-ID: <{id}>\nDate: Sun, 12 Nov 2017 16:15:07 +0000\nList-Id: <dev.meadow.apache.org>\n{more}\n\
             Words about {id}.\n>From the meadow.\n\n"
        )
    };
    let ada = "Ada <ada@example.org>";
    let answer = "In-Reply-To: <talk@x>\nReferences: <talk@x>\n";
    [
        mail("talk@x", ada, "How to mow", ""),
        mail(
            "answer/1@x",
            "Bob <bob@example.org>",
            "Re: How to mow",
            answer,
        ),
        mail(
            "jira@x",
            "\"Ada (JIRA)\" <jira@apache.org>",
            "[jira] [Created] (MEADOW-1) Gate",
            "",
        ),
        mail("vote@x", ada, "[VOTE] Release 1.0", ""),
        mail(
            "PR_kwDOAbc@gitbox.apache.org",
            "\"ada (via GitHub)\" <git@apache.org>",
            "[PR] Mow [meadow]",
            "",
        ),
        mail(
            "push@x",
            "ada@apache.org",
            "[meadow] branch main updated: Mow",
            "",
        ),
    ]
    .concat()
}

fn imported() -> Sandbox {
    let home = Sandbox::new();
    home.write(
        "gleaner.toml",
        "[distribution]\nenabled = false\n[license]\nenabled = false\n[forge_activity]\nenabled = false\n",
    );
    home.write("dev.mbox", &archive());
    let repository = "https://github.com/apache/meadow";
    for args in [
        &["repo", "add", repository][..],
        &[
            "mail", "import", "dev.mbox", "--list", DEV, "--repo", repository,
        ],
    ] {
        let done = home.transcript(&mut home.gleaner(args));
        assert_eq!(done.exit, Some(0), "{args:?}: {}", done.text());
    }
    home
}

/// Status, headers and body.
fn get(address: &str, path: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (
        head[9..12].parse().unwrap(),
        head.to_lowercase(),
        body.to_owned(),
    )
}

fn json(address: &str, path: &str) -> Value {
    let (status, head, body) = get(address, path);
    assert_eq!(status, 200, "{path}: {body}");
    assert!(head.contains("application/json"), "{path}: {head}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn mail_is_served() {
    let home = imported();
    let mut web = home.gleaner(["web", "--listen", "127.0.0.1:0"]);
    let (mut process, address, _) = started_and_said(web.stdout(Stdio::null()));

    let lists = json(&address, "/api/v1/mail/lists");
    assert_eq!(lists["data"].as_array().unwrap().len(), 1);
    assert_eq!(lists["data"][0]["address"], DEV);
    assert_eq!(lists["data"][0]["messages"], 6);
    let list = json(&address, &format!("/api/v1/mail/lists/{DEV}"));
    assert_eq!(list["data"]["system"], "apache");
    // Pages lead on to the end.
    let mut path = format!("/api/v1/mail/lists/{DEV}/messages?limit=4");
    let mut ids = Vec::new();
    loop {
        let page = json(&address, &path);
        let data = page["data"].as_array().unwrap();
        ids.extend(
            data.iter()
                .map(|one| one["message_id"].as_str().unwrap().to_owned()),
        );
        let Some(cursor) = page["meta"]["next"].as_str() else {
            break;
        };
        path = format!("/api/v1/mail/lists/{DEV}/messages?limit=4&cursor={cursor}");
    }
    ids.sort();
    assert_eq!(ids.len(), 6, "{ids:?}");
    let threads = json(&address, &format!("/api/v1/mail/lists/{DEV}/threads"));
    assert_eq!(threads["data"].as_array().unwrap().len(), 5);

    // Ids stand in paths as they are, but for what must be written otherwise.
    let message = json(&address, "/api/v1/mail/messages/answer%2F1@x");
    let message = &message["data"][0];
    assert_eq!(message["class"], "discuss");
    assert_eq!(message["in_reply_to"], "talk@x");
    assert_eq!(
        message["body"],
        "Words about answer/1@x.\nFrom the meadow.\n"
    );
    assert_eq!(message["lists"][0], DEV);
    let thread = json(&address, "/api/v1/mail/messages/answer%2F1@x/thread");
    assert_eq!(thread["data"]["messages"], 2);
    let (status, head, raw) = get(&address, "/api/v1/mail/messages/talk@x/raw");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: message/rfc822"), "{head}");
    assert!(raw.starts_with("From: Ada <ada@example.org>"), "{raw}");
    assert!(raw.contains("\nFrom the meadow."), "{raw}");
    let (status, head, mbox) = get(&address, "/api/v1/mail/messages/talk@x/thread.mbox");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: application/mbox"), "{head}");
    // What is given out can be read in again.
    home.write("thread.mbox", &mbox);
    let parsed = home.run(["mail", "parse", "thread.mbox", "--format", "jsonl"]);
    assert_eq!(parsed.matches("\"message_id\"").count(), 2, "{parsed}");
    assert!(parsed.contains("\\nFrom the meadow.\\n"), "{parsed}");

    let found = json(&address, "/api/v1/mail/search?q=words+vote");
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    assert_eq!(found["data"][0]["message_id"], "vote@x");
    assert_eq!(get(&address, "/api/v1/mail/messages/nobody@x").0, 404);
    assert_eq!(get(&address, "/api/v1/mail/search").0, 400);

    // The command line and the web tell the same.
    let served = json(&address, "/api/v1/mail/stats");
    let told = home
        .gleaner(["mail", "stats", "--format", "jsonl"])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(served["data"], told);
    assert_eq!(
        (&told["email_messages"], &told["shadows"]),
        (&6.into(), &0.into())
    );
    let old = json(&address, "/api/v1/mailing-list/stats");
    assert_eq!(old["EmailMessages"], 6);
    assert_eq!(old["ByClass"]["vote"], 1);
    // One field for each, under the names of old.
    assert_eq!(
        old.as_object().unwrap().len(),
        told.as_object().unwrap().len()
    );

    terminate(&process);
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn an_apache_site_can_lack_nothing() {
    let home = imported();
    let done =
        home.transcript(&mut home.gleaner(["mail", "verify", "--strict", "--format", "jsonl"]));
    assert_eq!(done.exit, Some(0), "{}", done.text());
    let of = |branch: &str| {
        let lines = done
            .stdout
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let line = lines.into_iter().find(|line| line["branch"] == branch);
        line.unwrap_or_else(|| panic!("no {branch}"))["verdict"].clone()
    };
    assert_eq!(
        of("class patch_submission"),
        "EMPTY",
        "nobody asks for it here"
    );
    assert_eq!(of("class issue_event"), "PASS");
    assert_eq!(of("mirror linked"), "DEFER");
    // Without its tracker's mail it does lack something.
    let bare = Sandbox::new();
    let text = archive();
    let talk = text.split("From x@").nth(1).unwrap();
    bare.write("dev.mbox", &format!("From x@{talk}"));
    let import = ["mail", "import", "dev.mbox", "--list", DEV];
    assert_eq!(bare.transcript(&mut bare.gleaner(import)).exit, Some(0));
    let strict = bare.transcript(&mut bare.gleaner(["mail", "verify", "--strict"]));
    assert_eq!(strict.exit, Some(1), "{}", strict.text());
}

#[test]
fn the_projects_of_a_foundation_are_loaded_from_files() {
    let home = Sandbox::new();
    home.write(
        "projects.json",
        r#"{"meadow": {"name": "Apache Meadow", "pmc": "meadow",
              "repository": ["https://gitbox.apache.org/repos/asf/meadow-site.git", "https://gitbox.apache.org/repos/asf/meadow.git"]},
            "shed": {"name": "Apache Shed", "pmc": "meadow", "repository": ["https://svn.apache.org/repos/asf/shed"]}}"#,
    );
    home.write(
        "heath.rdf",
        "<rdf:RDF xmlns=\"http://usefulinc.com/ns/doap#\" xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\
         <Project><name>Apache Heath</name><repository><GitRepository>\
         <location rdf:resource=\"https://gitbox.apache.org/repos/asf/heath.git\"/></GitRepository></repository></Project></rdf:RDF>",
    );
    let load = ["repo", "load-foundation", "projects.json", "heath.rdf"];
    for (times, expected) in [
        (
            1,
            "2 repositories of 2 projects added, 0 there already; 1 projects have none on a forge",
        ),
        (
            2,
            "0 repositories of 2 projects added, 2 there already; 1 projects have none on a forge",
        ),
    ] {
        let done = home.transcript(&mut home.gleaner(load));
        assert_eq!(done.exit, Some(0), "{times}: {}", done.text());
        assert!(done.stderr.contains(expected), "{times}: {}", done.text());
    }
    let shown = home.run(["group", "show", "apache-meadow", "--format", "jsonl"]);
    assert!(shown.contains("github.com/apache/meadow\""), "{shown}");
    assert!(!shown.contains("meadow-site"), "{shown}");
    home.write("nonsense.json", "{}");
    let refused = home.transcript(&mut home.gleaner(["repo", "load-foundation", "nonsense.json"]));
    assert_eq!(refused.exit, Some(2), "{}", refused.text());
}
