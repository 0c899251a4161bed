//! From a listing to importable names.

use proptest::prelude::*;
use scan::python::{Module, ModuleKind, egg_modules, top_imports, wheel_modules};

fn told(modules: &[Module]) -> Vec<String> {
    modules
        .iter()
        .map(|module| format!("{} {:?}", module.name, module.kind))
        .collect()
}

#[test]
fn packages_modules_and_extensions() {
    let modules = wheel_modules([
        "pkg/__init__.py",
        "pkg/_private.py",
        "pkg/sub/__init__.py",
        "pkg/sub/fast.cpython-311-x86_64-linux-gnu.so",
        "pkg/sub/stable.abi3.so",
        "pkg/sub/win.cp311-win_amd64.pyd",
        "pkg/sub/plain.pyd",
        "pkg/native/__init__.cpython-311-darwin.so",
        "single.py",
        "pkg/__pycache__/x.cpython-311.pyc",
        "pkg/sourceless.pyc",
        "pkg/data.json",
        "pkg/not-a-module.py",
        "pkg/2to3.py",
        "pkg/lib.so.1",
        "pkg.libs/libz-1a2b.so",
        "pkg/template/{{name}}/setup.py",
        "pkg-1.0.dist-info/METADATA",
        "pkg-1.0.dist-info/odd.py",
        "pkg-1.0.data/purelib/pure/__init__.py",
        "pkg-1.0.data/platlib/_speed.so",
        "pkg-1.0.data/scripts/run.py",
    ]);
    assert_eq!(
        told(&modules),
        [
            "_speed Extension",
            "pkg Package",
            "pkg._private Source",
            "pkg.native Package",
            "pkg.sourceless Source",
            "pkg.sub Package",
            "pkg.sub.fast Extension",
            "pkg.sub.plain Extension",
            "pkg.sub.stable Extension",
            "pkg.sub.win Extension",
            "pure Package",
            "single Source",
        ]
    );
    assert_eq!(top_imports(&modules), ["_speed", "pkg", "pure", "single"]);
}

#[test]
fn directories_without_init_are_namespaces() {
    let modules = wheel_modules([
        "google/cloud/storage/__init__.py",
        "google/cloud/storage/blob.py",
        "plain/x.py",
    ]);
    assert_eq!(
        told(&modules),
        [
            "google Namespace",
            "google.cloud Namespace",
            "google.cloud.storage Package",
            "google.cloud.storage.blob Source",
            "plain Namespace",
            "plain.x Source",
        ]
    );
    assert_eq!(top_imports(&modules), ["google.cloud.storage", "plain.x"]);
}

#[test]
fn stubs_are_told_apart() {
    let modules = wheel_modules([
        "yaml-stubs/__init__.pyi",
        "yaml-stubs/nodes.pyi",
        "pkg/__init__.py",
        "pkg/__init__.pyi",
        "pkg/c.pyi",
    ]);
    assert_eq!(
        told(&modules),
        ["pkg Package", "pkg.c Stub", "yaml Stub", "yaml.nodes Stub"]
    );
    assert_eq!(top_imports(&modules), ["pkg"]);
}

#[test]
fn eggs_keep_their_own_directory_out() {
    let modules = egg_modules([
        "EGG-INFO/scripts/x.py",
        "pkg/__init__.py",
        "pkg/__init__.pyc",
    ]);
    assert_eq!(told(&modules), ["pkg Package"]);
}

proptest! {
    #[test]
    fn names_are_sorted_unique_and_have_their_parents(
        files in proptest::collection::vec("([ab_-]{1,2}/){0,4}(__init__|[abc]|2d)\\.(py|so|pyi|txt)", 0..30)
    ) {
        let modules = wheel_modules(files.iter().map(String::as_str));
        let names: Vec<&str> = modules.iter().map(|module| module.name.as_str()).collect();
        prop_assert!(names.is_sorted_by(|a, b| a < b));
        for module in modules.iter().filter(|module| module.kind != ModuleKind::Stub) {
            for (at, _) in module.name.match_indices('.') {
                prop_assert!(names.contains(&&module.name[..at]), "{} in {names:?}", module.name);
            }
        }
    }

    #[test]
    fn any_listing_is_survived(files in proptest::collection::vec("\\PC{0,30}", 0..10)) {
        let modules = wheel_modules(files.iter().map(String::as_str));
        let _ = (top_imports(&modules), egg_modules(files.iter().map(String::as_str)));
    }
}
