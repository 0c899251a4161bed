//! The changelog of an index.

use proptest::prelude::*;
use scan::python::changelog::{ChangelogAnswer, ChangelogFault};

fn response(inner: &str) -> String {
    format!("<?xml version='1.0'?>\n<methodResponse>{inner}</methodResponse>\n")
}

fn line(project: &str, serial: u64) -> String {
    format!(
        "<value><array><data>\n<value><string>{project}</string></value><value><nil/></value>\
         <value><int>1600000000</int></value><value>remove project</value>\
         <value><int>{serial}</int></value></data></array></value>"
    )
}

#[test]
fn serials_lines_and_faults_are_told_apart() {
    let serial = response("<params><param><value><int>42</int></value></param></params>");
    assert_eq!(
        ChangelogAnswer::parse(serial.as_bytes()),
        Ok(ChangelogAnswer::Serial(42))
    );
    let lines = [line("a&amp;b", 7), line("zope.interface", 9)].concat();
    let lines = response(&format!(
        "<params><param><value><array><data>{lines}</data></array></value></param></params>"
    ));
    let Ok(ChangelogAnswer::Lines(lines)) = ChangelogAnswer::parse(lines.as_bytes()) else {
        panic!("lines are expected");
    };
    assert_eq!((lines[0].project.as_str(), lines[0].serial), ("a&b", 7));
    assert_eq!(lines[1].project, "zope.interface");
    assert_eq!(lines[1].action, "remove project");
    assert_eq!(lines[1].version, None);
    let fault = response(
        "<fault><value><struct><member><name>faultCode</name><value><int>-32500</int></value></member>\
         <member><name>faultString</name><value><string>HTTPTooManyRequests</string></value></member>\
         </struct></value></fault>",
    );
    assert_eq!(
        ChangelogAnswer::parse(fault.as_bytes()),
        Ok(ChangelogAnswer::Fault {
            code: -32500,
            text: "HTTPTooManyRequests".to_owned()
        })
    );
    let empty =
        response("<params><param><value><array><data></data></array></value></param></params>");
    assert_eq!(
        ChangelogAnswer::parse(empty.as_bytes()),
        Ok(ChangelogAnswer::Lines(Vec::new()))
    );
}

#[test]
fn what_is_no_changelog_is_refused() {
    for odd in [
        "",
        "<html><body>hello</body></html>",
        "{}",
        "<methodResponse>",
    ] {
        assert!(ChangelogAnswer::parse(odd.as_bytes()).is_err(), "{odd}");
    }
    let cut = response("<params><param><value><int>4");
    assert!(matches!(
        ChangelogAnswer::parse(&cut.as_bytes()[..60]),
        Err(ChangelogFault::NotAChangelog | ChangelogFault::Xml(_))
    ));
}

proptest! {
    #[test]
    fn anything_is_survived(text in "[<>/a-z&;0-9 ]{0,200}") {
        let _ = ChangelogAnswer::parse(text.as_bytes());
        let _ = ChangelogAnswer::parse(response(&text).as_bytes());
    }
}
