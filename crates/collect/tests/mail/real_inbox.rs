//! Against the real public-inbox, where it is installed: collect, change the archive, collect again.

use std::{
    net::TcpListener,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use collect::{http::Reply, mail::public_inbox};
use db::testing::both;
use facts::mail::Archive;

use crate::world::{INBOX, PARTS, World, source};

/// Imports an mbox with epochs as small as one likes.
const IMPORT: &str = r"
use PublicInbox::InboxWritable; use PublicInbox::V2Writable; use PublicInbox::MboxReader; use PublicInbox::Eml;
my ($mbox,$dir,$addr,$rot)=@ARGV;
my $ibx=PublicInbox::Inbox->new({inboxdir=>$dir,name=>'things',version=>2,address=>[$addr],indexlevel=>'basic'});
my $iw=PublicInbox::InboxWritable->new($ibx); $iw->init_inbox(1) unless -d qq($dir/git);
my $im=$iw->importer(0); $im->{rotate_bytes}=$rot if $rot; open my $fh,'<',$mbox or die; my ($n,$d)=(0,0);
PublicInbox::MboxReader->mboxrd($fh,sub{ $im->add($_[0])?$n++:$d++ }); $im->done;
";

const ADDRESS: &str = "things@example.org";
const OLD: &str = "old@example.org";

struct Real {
    home: PathBuf,
    server: Option<Child>,
}

impl Drop for Real {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Real {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("HOME", &self.home)
            .env("PI_DIR", self.home.join(".public-inbox"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn run(&self, program: &str, args: &[&str], input: Option<&Path>) {
        let mut command = self.command(program);
        command.args(args);
        if let Some(input) = input {
            command.stdin(Stdio::from(std::fs::File::open(input).unwrap()));
        }
        let said = command.output().unwrap();
        let complaint = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{program} {args:?}: {complaint}");
    }

    /// Starts the server on a socket that takes callers already, as init systems hand it over: they
    /// wait in its queue until it is ready, and nobody has to ask whether it is.
    fn serve(&mut self, socket: TcpListener) {
        let mut server = self.command("sh");
        let script = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec public-inbox-httpd -W0";
        server.args(["-c", script]);
        server.stdin(OwnedFd::from(socket));
        server.stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(server.spawn().unwrap());
    }

    fn inbox(&self) -> String {
        self.home.join("things").to_string_lossy().into_owned()
    }

    /// Hands one mail to the inbox in the first version of the format.
    fn deliver(&self, mail: &str) {
        let file = self.home.join("delivered.eml");
        std::fs::write(&file, mail).unwrap();
        let mut command = self.command("public-inbox-mda");
        command.arg("--no-precheck").env("ORIGINAL_RECIPIENT", OLD);
        command.stdin(Stdio::from(std::fs::File::open(&file).unwrap()));
        let said = command.output().unwrap();
        let complaint = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{complaint}");
    }

    fn import(&self, mails: &[String], rotate: &str) {
        let mut mbox = String::new();
        for mail in mails {
            mbox.push_str("From mboxrd@z Thu Jan  1 00:00:00 1970\n");
            mbox.push_str(&mail.replace("\nFrom ", "\n>From "));
            mbox.push('\n');
        }
        let (file, script) = (self.home.join("in.mbox"), self.home.join("imp.pl"));
        std::fs::write(&file, mbox).unwrap();
        std::fs::write(&script, IMPORT).unwrap();
        let file = file.to_string_lossy().into_owned();
        self.run(
            "perl",
            &[
                &script.to_string_lossy(),
                &file,
                &self.inbox(),
                ADDRESS,
                rotate,
            ],
            None,
        );
    }
}

#[expect(clippy::print_stderr, reason = "nothing is skipped in silence")]
fn not_tested(why: &str) {
    eprintln!("NOT TESTED: {why}");
}

fn one(number: u32) -> String {
    let padding = "All work and no play makes a dull list.\n".repeat(20);
    let date = format!("2018-01-01T00:{:02}:{:02}Z", number / 60, number % 60);
    let mail = source(&format!("{number}@x"), &date, &format!("about {number}"));
    // Mail is removed from the inboxes that it was sent to.
    format!("{mail}{padding}").replace("dev@example.apache.org", ADDRESS)
}

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn heavy_the_store_equals_a_real_archive_that_changes(db: TestDb) {
        let missing = Command::new("public-inbox-httpd").arg("--help").output().is_err();
        if missing {
            assert!(std::env::var_os("GLEANER_NEEDS_PUBLIC_INBOX").is_none(), "public-inbox is not installed");
            not_tested("public-inbox is not installed (`apt-get install public-inbox`)");
            return;
        }
        let mut world = World::new(&db).await;
        let mut real = Real { home: world.directory.path().join("home"), server: None };
        std::fs::create_dir(&real.home).unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{port}/things");
        real.run("git", &["config", "--global", "user.name", "t"], None);
        real.run("git", &["config", "--global", "user.email", "t@example.org"], None);
        real.run("public-inbox-init", &["-V2", "-L", "basic", "things", &real.inbox(), &url, ADDRESS], None);
        let mails: Vec<String> = (0..12).map(one).collect();
        real.import(&mails, "6000");
        // And one in the first version of the format: a single repository, a file for each mail.
        let (old, old_url) = (real.home.join("old").to_string_lossy().into_owned(), format!("http://127.0.0.1:{port}/old"));
        real.run("public-inbox-init", &["-V1", "-L", "basic", "old", &old, &old_url, OLD], None);
        let settings = real.home.join(".public-inbox/config").to_string_lossy().into_owned();
        real.run("git", &["config", "-f", &settings, "publicinboxmda.spamcheck", "none"], None);
        for number in 50..54 {
            real.deliver(&one(number).replace(ADDRESS, OLD));
        }
        real.serve(socket);
        world.inboxes = Some(format!("http://127.0.0.1:{port}"));
        let list = world.register(Archive::PublicInbox, ADDRESS).await;
        world.run().await;
        let names = public_inbox::inboxes(&world.http().for_person(), INBOX).await;
        let Reply::Found(names) = names else {
            panic!("{names:?}");
        };
        assert_eq!(names, ["old", "things"], "the top manifest names all inboxes");
        let first = world.register(Archive::PublicInbox, OLD).await;
        world.run().await;
        assert_eq!(world.ids(first).await, ["50@x", "51@x", "52@x", "53@x"]);
        assert!(world.part(first, "all").await.is_some());
        let all: Vec<String> = (0..12).map(|number| format!("{number}@x")).collect();
        assert_eq!(world.ids(list).await, all);
        assert!(world.part(list, "1").await.is_some(), "there are several epochs");

        // Remove one, edit one, purge one, add one.
        let raw = |number: usize| {
            let file = real.home.join(format!("{number}.eml"));
            std::fs::write(&file, &mails[number]).unwrap();
            file
        };
        real.run("public-inbox-learn", &["rm"], Some(&raw(3)));
        real.run("public-inbox-purge", &[&real.inbox()], Some(&raw(5)));
        let file = raw(7).to_string_lossy().into_owned();
        let mut edit = real.command("public-inbox-edit");
        edit.env("MAIL_EDITOR", "sed -i s/Words/Better/").args(["-F", &file, &real.inbox()]);
        let said = edit.output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        real.import(&[one(40)], "6000");
        let file = real.home.join("old.eml");
        std::fs::write(&file, one(51).replace(ADDRESS, OLD)).unwrap();
        real.run("public-inbox-learn", &["rm"], Some(&file));
        real.deliver(&one(54).replace(ADDRESS, OLD));
        world.fetch().await;
        assert_eq!(world.ids(first).await, ["50@x", "52@x", "53@x", "54@x"]);
        let expected: Vec<String> = [0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 40].iter().map(|number| format!("{number}@x")).collect();
        assert_eq!(world.ids(list).await, expected);
        let view = store::mail::by_message_id(&db, "7@x").await.unwrap();
        assert_eq!(view.len(), 1);
        assert!(view[0].body.as_deref().unwrap().starts_with("Better"));
    }
}
