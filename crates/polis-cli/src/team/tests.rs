//! Tests of the built-in teams against the source document, and of project files that override them.

use super::*;

/// Lines of the source document, verbatim.
const ARCHITECT_ENDS: &str = "- 需要向用户反馈时：send_message(to=\"user\", payload={text: \"...\"})\n- 需要澄清需求时：主动向用户提问";
const PROGRAMMER_BEGINS: &str =
    "你是一名程序员，负责开发分配给你的模块。\n\n【开发规范】\n- 严格按照模块规格说明开发\n";

#[test]
fn the_requirement_is_put_to_root_as_the_document_builds_it() {
    let team = Team::find(None, "dev-team", "zh").unwrap();
    let text = team.requirement("创建一个简单的计算器程序");
    let architect = &team.roles["architect"].prompt;
    let programmer = &team.roles["programmer"].prompt;
    assert!(architect.ends_with(ARCHITECT_ENDS), "{architect}");
    assert!(programmer.starts_with(PROGRAMMER_BEGINS), "{programmer}");
    assert_eq!(
        text,
        format!(
            "【任务目标】\n创建一个软件架构师智能体来处理以下编程需求：\n\n创建一个简单的计算器程序\n\n\
             【架构师职责】\n\n{architect}\n\n\n\
             【程序员岗位模板】\n当创建程序员岗位时，使用以下提示词：\n\n{programmer}"
        )
    );
}

#[test]
fn both_languages_have_the_same_roles_with_the_same_sections() {
    let en = Team::find(None, "dev-team", "en").unwrap();
    let zh = Team::find(None, "dev-team", "zh").unwrap();
    let shape = |team: &Team| -> Vec<(String, usize, usize)> {
        let role = |(file, role): (&String, &RoleFile)| {
            let lines = |marks: &[&str]| {
                let starts = |line: &&str| marks.iter().any(|mark| line.starts_with(mark));
                role.prompt.lines().filter(starts).count()
            };
            (file.clone(), lines(&["- "]), lines(&["【", "["]))
        };
        team.roles.iter().map(role).collect()
    };
    assert_eq!(shape(&en), shape(&zh));
    assert_eq!(en.roles["programmer"].tools, zh.roles["programmer"].tools);
    assert_eq!(zh.create_roles().len(), 3);
    assert!(
        en.requirement("A calculator")
            .contains("\n\nA calculator\n\n")
    );
}

#[test]
fn a_file_of_the_directory_wins_and_is_never_overwritten() {
    let room = tempfile::tempdir().unwrap();
    let written = init(room.path(), "dev-team", "en").unwrap();
    assert!(written.iter().all(|file| file.written));
    assert_eq!(
        Team::find(Some(room.path()), "dev-team", "en").unwrap(),
        Team::find(None, "dev-team", "en").unwrap()
    );
    let file = room.path().join("teams/dev-team/programmer.md");
    std::fs::write(
        &file,
        "---\r\nname: programmer  # ours\r\n---\r\nTest first.\r\n",
    )
    .unwrap();
    assert!(
        init(room.path(), "dev-team", "en")
            .unwrap()
            .iter()
            .all(|f| !f.written)
    );
    let team = Team::find(Some(room.path()), "dev-team", "en").unwrap();
    assert_eq!(team.roles["programmer"].prompt, "Test first.");
    assert_eq!(team.roles["programmer"].name, "programmer");
    assert_eq!(team.roles["programmer"].tools, None);
    assert!(team.requirement("x").ends_with("Test first."));
}

#[test]
fn a_directory_may_be_a_team_of_its_own() {
    let room = tempfile::tempdir().unwrap();
    let own = room.path().join("teams/writers");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("root.md"), "---\nname: root\n---\nHire an author.").unwrap();
    let team = Team::find(Some(room.path()), "writers", "en").unwrap();
    assert_eq!(team.requirement("A story {{root}}"), "A story {{root}}");
    let names: Vec<String> = list(Some(room.path()))
        .unwrap()
        .into_iter()
        .map(|t| t.name)
        .collect();
    assert_eq!(names, ["dev-team", "writers"]);
    std::fs::write(
        own.join("requirement.md"),
        "Do: {{requirement}} as {{root}}",
    )
    .unwrap();
    let team = Team::find(Some(room.path()), "writers", "en").unwrap();
    assert_eq!(
        team.requirement("{{root}}"),
        "Do: {{root}} as \nHire an author."
    );
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let room = tempfile::tempdir().unwrap();
    let own = room.path().join("teams/t");
    std::fs::create_dir_all(&own).unwrap();
    for (file, text, says) in [
        ("root.md", "You are root.", "head between two lines"),
        ("root.md", "---\nname: root\n---\n", "no prompt"),
        ("root.md", "---\ntools: files\n---\nx", "no name"),
        (
            "root.md",
            "---\nname: a\nmodle: x\n---\nx",
            "unknown key \"modle\"",
        ),
        ("root.md", "---\nname: a\ntemperature: 3\n---\nx", "0 to 2"),
        ("requirement.md", "Do it.", "{{requirement}} is missing"),
        (
            "requirement.md",
            "{{requirement}} {{boss}}",
            "{{boss}} is neither",
        ),
    ] {
        let path = own.join(file);
        std::fs::write(&path, text).unwrap();
        let message = Team::find(Some(room.path()), "t", "en")
            .unwrap_err()
            .to_string();
        assert!(message.contains(says), "{message}");
        std::fs::remove_file(path).unwrap();
    }
    for name in ["nobody", "../teams/t", "", "a/b"] {
        let refused = Team::find(Some(room.path()), name, "en").unwrap_err();
        assert!(
            refused.to_string().contains("There is no team"),
            "{refused}"
        );
    }
}
