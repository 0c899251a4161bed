use serde_json::{Value, json};

use super::tables::Tables;
use super::{violations, workspace};

const DOCUMENT: &str = "\
# A house

| crate | of bottles |
|---|---|
| `none` | of our business |

| room | may see | its tests may also see |
|---|---|---|
| `cellar` | nobody | nobody |
| `hall` | `cellar` (for wine) | `attic` |
| `attic` | nobody | nobody |

Some prose with `ticks`.

| crate | reserved to | and to the tests of |
|---|---|---|
| `wine` | `cellar` | `hall` |
";

#[test]
fn a_house_as_described_has_no_violations() {
    let rooms = [
        room("cellar", &[on("wine", None)]),
        room(
            "hall",
            &[
                on("cellar", None),
                on("attic", Some("dev")),
                on("wine", Some("dev")),
                on("anything-else", None),
            ],
        ),
        room("attic", &[testing("attic", Some("dev"))]),
    ];
    assert_eq!(found(&rooms), Vec::<String>::new());
}

#[test]
fn a_forbidden_room_is_a_violation_whatever_the_kind_of_dependency() {
    for (kind, expected) in [
        (None, "`cellar` sees `hall`"),
        (Some("build"), "`cellar` sees `hall`"),
        (Some("dev"), "`cellar` sees `hall` in its tests"),
    ] {
        assert_eq!(found(&house_with("cellar", on("hall", kind))), [expected]);
    }
}

#[test]
fn what_is_allowed_to_tests_is_not_allowed_to_the_room() {
    let rooms = house_with("hall", on("attic", None));
    assert_eq!(found(&rooms), ["`hall` sees `attic`"]);
    let rooms = house_with("hall", on("wine", None));
    assert_eq!(found(&rooms), ["`hall` uses `wine`"]);
}

#[test]
fn a_reserved_crate_is_refused_elsewhere() {
    let rooms = house_with("attic", on("wine", Some("dev")));
    assert_eq!(found(&rooms), ["`attic` uses `wine` in its tests"]);
}

#[test]
fn the_testing_feature_stays_in_tests() {
    let rooms = house_with("hall", testing("cellar", None));
    assert_eq!(found(&rooms), ["`hall` ships `cellar` with `testing`"]);
    assert!(found(&house_with("hall", testing("cellar", Some("dev")))).is_empty());
}

#[test]
fn rows_and_rooms_must_match() {
    let mut rooms = house_with("hall", on("cellar", None));
    rooms.push(room("shed", &[]));
    rooms.retain(|room| room["name"] != "attic");
    let expected = [
        "`attic`: it stands in a table but is no room",
        "`attic`: it stands in a table but is no room",
        "`shed`: it has no row among the rooms",
    ];
    assert_eq!(found(&rooms), expected);
}

#[test]
fn a_document_without_the_tables_is_refused() {
    for document in [
        "",
        &DOCUMENT.replace("may see", "sees"),
        &DOCUMENT.replace("reserved to", "of"),
        &DOCUMENT.replace("| `cellar` | nobody | nobody |", "| `cellar` | nobody |"),
        &DOCUMENT.replace("| `cellar` |", "| cellar |"),
        &DOCUMENT.replace("| `attic` | nobody", "| `hall` | nobody"),
    ] {
        assert!(Tables::parse(document).is_err(), "{document}");
    }
}

fn found(rooms: &[Value]) -> Vec<String> {
    let metadata = json!({ "packages": rooms }).to_string();
    let rooms = workspace::parse(&metadata).unwrap();
    violations(&Tables::parse(DOCUMENT).unwrap(), &rooms)
}

fn house_with(name: &str, dependency: Value) -> Vec<Value> {
    let mut rooms = ["cellar", "hall", "attic"].map(|name| room(name, &[]));
    let changed = rooms.iter_mut().find(|room| room["name"] == name).unwrap();
    *changed = room(name, &[dependency]);
    rooms.into()
}

fn room(name: &str, dependencies: &[Value]) -> Value {
    json!({ "name": name, "dependencies": dependencies })
}

fn on(name: &str, kind: Option<&str>) -> Value {
    json!({ "name": name, "kind": kind, "features": [] })
}

fn testing(name: &str, kind: Option<&str>) -> Value {
    json!({ "name": name, "kind": kind, "features": ["testing"] })
}
