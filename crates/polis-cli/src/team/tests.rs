//! Tests of the built-in teams: the Chinese prompts as specified, the same roles in both languages, and
//! project files that override them.

use polis_i18n::{Surface, UiLanguage};

use super::*;

/// Lines of the specified Chinese prompts, verbatim.
const ARCHITECT_PROMPT_END: &str = "- 需要向用户反馈时：send_message(to=\"user\", payload={text: \"...\"})\n- 需要澄清需求时：主动向用户提问";
const PROGRAMMER_PROMPT_START: &str =
    "你是一名程序员，负责开发分配给你的模块。\n\n【开发规范】\n- 严格按照模块规格说明开发\n";

#[test]
fn requirement_template_renders_specified_prompt() {
    let team = TeamTemplate::load(None, "dev-team", "zh").unwrap();
    let text = team.render_requirement("创建一个简单的计算器程序");
    let architect = &team.roles["architect"].prompt;
    let programmer = &team.roles["programmer"].prompt;
    assert!(architect.ends_with(ARCHITECT_PROMPT_END), "{architect}");
    assert!(
        programmer.starts_with(PROGRAMMER_PROMPT_START),
        "{programmer}"
    );
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
fn languages_define_same_roles_and_sections() {
    let en = TeamTemplate::load(None, "dev-team", "en").unwrap();
    let zh = TeamTemplate::load(None, "dev-team", "zh").unwrap();
    let shape = |team: &TeamTemplate| -> Vec<(String, usize, usize)> {
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
        en.render_requirement("A calculator")
            .contains("\n\nA calculator\n\n")
    );
}

#[test]
fn project_file_overrides_built_in_and_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let written = write_team_files(directory.path(), "dev-team", "en").unwrap();
    assert!(written.iter().all(|file| file.written));
    assert_eq!(
        TeamTemplate::load(Some(directory.path()), "dev-team", "en").unwrap(),
        TeamTemplate::load(None, "dev-team", "en").unwrap()
    );
    let file = directory.path().join("teams/dev-team/programmer.md");
    std::fs::write(
        &file,
        "---\r\nname: programmer  # ours\r\n---\r\nTest first.\r\n",
    )
    .unwrap();
    assert!(
        write_team_files(directory.path(), "dev-team", "en")
            .unwrap()
            .iter()
            .all(|f| !f.written)
    );
    let team = TeamTemplate::load(Some(directory.path()), "dev-team", "en").unwrap();
    assert_eq!(team.roles["programmer"].prompt, "Test first.");
    assert_eq!(team.roles["programmer"].name, "programmer");
    assert_eq!(team.roles["programmer"].tools, None);
    assert!(team.render_requirement("x").ends_with("Test first."));
}

#[test]
fn project_directory_defines_new_team() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("teams/writers");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("root.md"), "---\nname: root\n---\nHire an author.").unwrap();
    let team = TeamTemplate::load(Some(directory.path()), "writers", "en").unwrap();
    assert_eq!(
        team.render_requirement("A story {{root}}"),
        "A story {{root}}"
    );
    let names: Vec<String> = list_teams(Some(directory.path()))
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
    let team = TeamTemplate::load(Some(directory.path()), "writers", "en").unwrap();
    assert_eq!(
        team.render_requirement("{{root}}"),
        "Do: {{root}} as \nHire an author."
    );
}

#[test]
fn invalid_team_file_is_refused_with_reason() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("teams/t");
    std::fs::create_dir_all(&own).unwrap();
    for (file, text, says) in [
        ("root.md", "You are root.", "front matter between two lines"),
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
        let refused = TeamTemplate::load(Some(directory.path()), "t", "en").unwrap_err();
        let message = refused.render(Surface::Cli, UiLanguage::En).message;
        assert!(message.contains(says), "{message}");
        let message = refused.render(Surface::Cli, UiLanguage::Zh).message;
        assert!(
            message.contains("有误：") && message.ends_with('。'),
            "{message}"
        );
        std::fs::remove_file(path).unwrap();
    }
    for name in ["nobody", "../teams/t", "", "a/b"] {
        let refused = TeamTemplate::load(Some(directory.path()), name, "en").unwrap_err();
        let message = refused.render(Surface::Cli, UiLanguage::En).message;
        assert!(message.contains("There is no team"), "{message}");
    }
}
