//! ScanCode itself, where it is installed (`GLEANER_SCANCODE` names its private place), and how a
//! place without it is told.

use collect::license::{Choice, Desk};

use crate::world::settings;

#[tokio::test(flavor = "multi_thread")]
async fn a_place_without_it_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let desk = Desk::new(settings(directory.path()));
    let broken = desk.named(Choice::ScanCode).await.unwrap_err();
    assert!(broken.to_string().contains("gleaner license setup"), "{broken}");
    // "auto" falls back to what works.
    let scanner = desk.scanner().await.unwrap();
    assert_eq!(scanner.identity().tool, "builtin");
}
