//! GitHub's budgets and its patience.

use std::time::Duration;

use sim::{EPOCH, Fault, Limit, Rule, Token, upstreams::GitHubLimits};

use crate::client::{builder, client, get, get_as, header, json, limited};

const HOST: &str = "github.com";

fn two_tokens() -> Vec<Token> {
    vec![
        Token::new(HOST, "first", "secret-1").with_limit(5),
        Token::new(HOST, "second", "secret-2").with_limit(3),
    ]
}

#[tokio::test]
async fn each_token_has_its_own_budget_which_returns_with_the_hour() {
    let server = limited(GitHubLimits::default(), two_tokens()).await;
    for (secret, limit) in [("secret-1", 5), ("secret-2", 3)] {
        for used in 1..=limit {
            let answer = get_as(&server, HOST, "/orgs/meadow", Some(secret)).await;
            assert_eq!(answer.status(), 200);
            let remaining = (limit - used).to_string();
            assert_eq!(
                header(&answer, "x-ratelimit-remaining"),
                Some(remaining.as_str())
            );
        }
        let refused = get_as(&server, HOST, "/orgs/meadow", Some(secret)).await;
        assert_eq!(refused.status(), 403);
        assert_eq!(header(&refused, "x-ratelimit-remaining"), Some("0"));
        let reset = (EPOCH.as_second() + 3600).to_string();
        assert_eq!(header(&refused, "x-ratelimit-reset"), Some(reset.as_str()));
        assert_eq!(header(&refused, "retry-after"), None);
    }
    let counts = server.journal().counts(HOST);
    assert_eq!(counts.over_primary, 2);
    assert_eq!(counts.tokens["first"], 6);
    assert_eq!(counts.tokens["second"], 4);

    server.clock().advance(Duration::from_hours(1));
    let answer = get_as(&server, HOST, "/orgs/meadow", Some("secret-1")).await;
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn an_answer_of_304_costs_a_token_nothing() {
    let server = limited(GitHubLimits::default(), two_tokens()).await;
    let first = get_as(&server, HOST, "/orgs/meadow/repos", Some("secret-1")).await;
    let tag = header(&first, "etag").unwrap().to_owned();
    let url = format!("{}/orgs/meadow/repos", server.base_url(HOST).unwrap());
    for _ in 0..10 {
        let request = client().get(&url).bearer_auth("secret-1");
        let answer = request.header("if-none-match", &tag).send().await.unwrap();
        assert_eq!(answer.status(), 304);
        assert_eq!(header(&answer, "x-ratelimit-used"), Some("1"));
    }
    let budget = get_as(&server, HOST, "/rate_limit", Some("secret-1")).await;
    let budget = json(budget).await;
    assert_eq!(budget["rate"]["used"], 1);
    assert_eq!(budget["resources"]["core"]["remaining"], 4);

    // Without a token it counts.
    let anonymous = client().get(&url).header("if-none-match", &tag);
    let answer = anonymous.send().await.unwrap();
    assert_eq!(answer.status(), 304);
    assert_eq!(header(&answer, "x-ratelimit-used"), Some("1"));
}

#[tokio::test]
async fn searches_have_a_budget_of_their_own() {
    let limits = GitHubLimits {
        anonymous_searches_per_minute: 1,
        ..GitHubLimits::default()
    };
    let server = limited(limits, Vec::new()).await;
    let search = "/search/repositories?q=meadow";
    let first = get(&server, HOST, search).await;
    assert_eq!(header(&first, "x-ratelimit-resource"), Some("search"));
    assert_eq!(get(&server, HOST, search).await.status(), 403);
    assert_eq!(get(&server, HOST, "/orgs/meadow").await.status(), 200);
    server.clock().advance(Duration::from_mins(1));
    assert_eq!(get(&server, HOST, search).await.status(), 200);
}

#[tokio::test]
async fn haste_is_refused_for_a_minute_with_a_word_when_to_return() {
    let limits = GitHubLimits {
        points_per_minute: 3,
        refusal: 429,
        ..GitHubLimits::default()
    };
    let server = limited(limits, two_tokens()).await;
    let ask = async || get_as(&server, HOST, "/orgs/meadow", Some("secret-1")).await;
    for _ in 0..3 {
        assert_eq!(ask().await.status(), 200);
    }
    let refused = ask().await;
    assert_eq!(refused.status(), 429);
    assert_eq!(header(&refused, "retry-after"), Some("60"));
    assert_eq!(header(&refused, "x-ratelimit-remaining"), Some("2"));
    let text = json(refused).await["message"].to_string();
    assert!(text.contains("secondary rate limit"), "{text}");
    server.clock().advance(Duration::from_secs(59));
    assert_eq!(ask().await.status(), 429);
    server.clock().advance(Duration::from_secs(1));
    assert_eq!(ask().await.status(), 200);

    let refused = server
        .journal()
        .select(|request| request.limit == Some(Limit::Secondary));
    assert_eq!(refused.len(), 2);
    // Another token is not concerned.
    let other = get_as(&server, HOST, "/orgs/meadow", Some("secret-2")).await;
    assert_eq!(other.status(), 200);
}

#[tokio::test]
async fn too_many_at_once_are_refused() {
    let limits = GitHubLimits {
        concurrent: 2,
        tells_retry_after: false,
        ..GitHubLimits::default()
    };
    let server = limited(limits, two_tokens()).await;
    let hang = Rule::on(HOST, Fault::Hang).path("^/repositories/");
    server.plan().add(hang).unwrap();
    let url = format!("{}/repositories/1", server.base_url(HOST).unwrap());
    let mut hanging = Vec::new();
    for _ in 0..2 {
        let request = client().get(&url).bearer_auth("secret-1");
        hanging.push(tokio::spawn(request.send()));
    }
    server
        .journal()
        .until(|journal| journal.counts(HOST).in_flight == 2)
        .await;
    let refused = get_as(&server, HOST, "/orgs/meadow", Some("secret-1")).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(header(&refused, "retry-after"), None);
    let counts = server.journal().counts(HOST);
    assert_eq!((counts.over_secondary, counts.most_in_flight), (1, 3));

    for request in hanging {
        request.abort();
    }
    server
        .journal()
        .until(|journal| journal.counts(HOST).in_flight == 0)
        .await;
    server.clock().advance(Duration::from_mins(1));
    let answer = get_as(&server, HOST, "/orgs/meadow", Some("secret-1")).await;
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn a_revoked_token_and_a_nameless_client_are_refused() {
    let server = limited(GitHubLimits::default(), two_tokens()).await;
    server.world().revoke_token(HOST, "first").unwrap();
    let revoked = get_as(&server, HOST, "/orgs/meadow", Some("secret-1")).await;
    assert_eq!(revoked.status(), 401);
    let good = get_as(&server, HOST, "/orgs/meadow", Some("secret-2")).await;
    assert_eq!(good.status(), 200);

    let nameless = builder().build().unwrap();
    let url = format!("{}/orgs/meadow", server.base_url(HOST).unwrap());
    assert_eq!(nameless.get(url).send().await.unwrap().status(), 403);
    let secrets = server.journal().select(|request| {
        request
            .token
            .as_deref()
            .is_some_and(|token| token.contains("secret"))
    });
    assert!(secrets.is_empty(), "{secrets:?}");
}
