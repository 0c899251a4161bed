//! The changelog, by XML-RPC.

use std::fmt::Write as _;

use axum::{
    body::Body,
    extract::State,
    http::{StatusCode, header},
    response::Response,
};
use regex::Regex;

use super::{At, stock::Stock};
use crate::upstreams::answer::with;

pub(super) async fn call(State(desk): At, body: String) -> Response {
    let stock = desk.index.stock();
    if !stock.offers.changelog {
        let mut answer = Response::new(Body::from("405 Method Not Allowed"));
        *answer.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        return answer;
    }
    let value = match between(&body, "methodName").as_deref() {
        Some("changelog_last_serial") => Ok(int(last(&stock))),
        Some("changelog_since_serial") => {
            let since = between(&body, "int").or_else(|| between(&body, "i4"));
            let since = since.and_then(|text| text.parse::<u64>().ok());
            since
                .map(|since| lines(&stock, since))
                .ok_or("an int is expected")
        }
        Some("list_packages_with_serial") => {
            let mut members = String::new();
            for project in stock.projects.values() {
                let _ = write!(
                    members,
                    "<member><name>{}</name><value>{}</value></member>",
                    project.shown,
                    int(project.serial)
                );
            }
            Ok(format!("<struct>{members}</struct>"))
        }
        _ => Err("this method is no longer supported"),
    };
    let text = match value {
        Ok(value) => format!("<params><param><value>{value}</value></param></params>"),
        Err(why) => format!(
            "<fault><value><struct><member><name>faultCode</name><value><int>-32500</int></value>\
             </member><member><name>faultString</name><value><string>{why}</string></value></member>\
             </struct></value></fault>"
        ),
    };
    let text = format!("<?xml version='1.0'?>\n<methodResponse>{text}</methodResponse>\n");
    with(
        Response::new(Body::from(text)),
        header::CONTENT_TYPE,
        "text/xml; charset=utf-8",
    )
}

/// What is visible: a line that commits late does not count yet.
fn last(stock: &Stock) -> u64 {
    stock.journal.keys().next_back().copied().unwrap_or(0)
}

fn lines(stock: &Stock, since: u64) -> String {
    let mut values = String::new();
    let after = stock.journal.range(since + 1..);
    for (serial, line) in after.take(stock.offers.changelog_lines) {
        let version = match &line.version {
            Some(version) => format!("<string>{version}</string>"),
            None => "<nil/>".to_owned(),
        };
        let _ = write!(
            values,
            "<value><array><data><value><string>{}</string></value><value>{version}</value>\
             <value>{}</value><value><string>{}</string></value><value>{}</value>\
             </data></array></value>",
            line.project,
            int(line.at.unsigned_abs()),
            line.action,
            int(*serial)
        );
    }
    format!("<array><data>{values}</data></array>")
}

fn int(number: u64) -> String {
    format!("<int>{number}</int>")
}

fn between(text: &str, tag: &str) -> Option<String> {
    let pattern = Regex::new(&format!("<{tag}>\\s*([^<]*?)\\s*</{tag}>")).ok()?;
    Some(pattern.captures(text)?.get(1)?.as_str().to_owned())
}
