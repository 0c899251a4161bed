//! Pony Mail's double: it answers as Foal does, odd ways included.

use sim::{Server, upstreams::PonyMail};

use crate::client::{config, get, header, json};

const HOST: &str = "lists.apache.org";
const DEV: &str = "dev@meadow.apache.org";

async fn archive() -> Server {
    let pony = PonyMail::new(HOST);
    for (at, id) in [
        ("2018-01-01T00:00:00Z", "first"),
        ("2018-01-15T00:00:00Z", "middle"),
        ("2018-01-15T00:00:00Z", "middle"),
        ("2018-01-31T23:59:59Z", "last"),
    ] {
        let source = format!("Message-ID: <{id}@x>\n\nFrom here\n>From\tthere\nFromage\n");
        pony.put(DEV, at, source);
    }
    let ezmlm = "From dev-return-1-x=y@meadow.apache.org Sat Sep 30 08:58:08 2017\nMessage-ID: <ezmlm@x>\n\nWords\n";
    pony.put(DEV, "2017-09-30T08:58:08Z", ezmlm);
    Server::start(config(5).with(pony)).await.unwrap()
}

async fn said(server: &Server, path: &str) -> (u16, String) {
    let answer = get(server, HOST, path).await;
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn months_have_their_edges_or_not() {
    let server = archive().await;
    let count = |text: &str| text.matches("Message-ID: ").count();
    let (status, whole) = said(
        &server,
        "/api/mbox.lua?list=dev@meadow.apache.org&d=2018-01",
    )
    .await;
    assert_eq!(
        (status, count(&whole)),
        (200, 4),
        "one id stands there twice"
    );
    // Lines that would begin a mail are marked, those with a tabulator too, and no others.
    assert!(
        whole.contains("\n>From here\n>>From\tthere\nFromage\n"),
        "{whole}"
    );
    assert!(whole.starts_with("From MAILER-DAEMON "), "{whole}");
    let parted = "/api/mbox.lua?list=dev&domain=meadow.apache.org&date=2018-01";
    assert_eq!(
        count(&said(&server, parted).await.1),
        2,
        "the first and the last second are lost"
    );
    let (_, ezmlm) = said(
        &server,
        "/api/mbox.lua?list=dev@meadow.apache.org&d=2017-09",
    )
    .await;
    assert!(ezmlm.starts_with("From dev-return-1-"), "{ezmlm}");
}

#[tokio::test]
async fn what_is_not_there_is_empty_and_what_is_wrong_is_told() {
    let server = archive().await;
    for path in [
        "/api/mbox.lua?list=dev@meadow.apache.org&d=2016-01",
        "/api/mbox.lua?list=nobody@meadow.apache.org&d=2018-01",
    ] {
        let answer = get(&server, HOST, path).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(header(&answer, "content-type"), Some("application/mbox"));
        assert_eq!(
            header(&answer, "content-length"),
            None,
            "it comes in pieces"
        );
        assert_eq!(answer.text().await.unwrap(), "");
    }
    for (path, status, text) in [
        (
            "/api/mbox.lua?d=2018-01",
            400,
            "You must specify a list part",
        ),
        (
            "/api/mbox.lua?list=dev&d=2018-01",
            400,
            "You must specify a domain part",
        ),
        (
            "/api/mbox.lua?list=dev@x.org&d=soon",
            400,
            "must be of type YYYY-MM",
        ),
        ("/api/nothing.lua", 404, "API Endpoint not found!"),
    ] {
        let (found, body) = said(&server, path).await;
        assert_eq!(found, status, "{path}");
        assert!(body.contains(text), "{path}: {body}");
    }
}

#[tokio::test]
async fn figures_are_cheap_or_refused() {
    let server = archive().await;
    let cheap = "/api/stats.lua?list=dev&domain=meadow.apache.org&d=lte%3D1d&quick=1";
    let stats = json(get(&server, HOST, cheap).await).await;
    assert_eq!(
        (&stats["firstYear"], &stats["firstMonth"]),
        (&2017.into(), &9.into())
    );
    assert_eq!(stats["active_months"]["2018-01"], 4);
    let nobody = "/api/stats.lua?list=nobody&domain=meadow.apache.org&d=lte%3D1d";
    assert_eq!(
        json(get(&server, HOST, nobody).await).await["firstYear"],
        1970
    );
    let combined = "/api/stats.lua?list=dev@meadow.apache.org&d=lte%3D1d";
    assert_eq!(
        json(get(&server, HOST, combined).await).await,
        serde_json::json!({})
    );
    let all = "/api/stats.lua?list=dev&domain=meadow.apache.org&d=lte%3D30y";
    assert_eq!(get(&server, HOST, all).await.status(), 500);
    let preferences = json(get(&server, HOST, "/api/preferences.lua").await).await;
    assert_eq!(
        preferences["lists"]["meadow.apache.org"]["dev"], 0,
        "a sleeping list counts nothing"
    );
}
