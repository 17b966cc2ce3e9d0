//! Navigation bar, settings menu, keyboard help, and the offline notice: the parts around the content of every page.

use maud::{Markup, html};
use polis_view::Lang;

use crate::error_page::close;
use crate::layout::Tab;
use crate::request_context::{Taste, Theme, Visit};
use crate::{assets, tab};

/// Renders the navigation bar: tabs, live-update indicator and settings menu.
pub(crate) fn bar(visit: &Visit, at: Option<Tab>, live: bool) -> Markup {
    let lang = visit.lang();
    html! {
        header.bar {
            a.brand href="/" { img src=(assets::url("icon.svg")) alt=""; "polis" }
            span.project title=(lang.say("Project", "项目")) { (visit.project()) }
            nav aria-label=(lang.say("Main", "主导航")) {
                @for one in Tab::ALL.into_iter().filter(|one| tab::is_open_to(*one, visit)) {
                    a href=(tab::path(one)) data-key=(tab::key(one)) aria-current=[(Some(one) == at).then_some("page")] {
                        (one.name(lang))
                    }
                }
            }
            @if live {
                span.pulse role="img" aria-label=(lang.say("Live updates", "实时更新"))
                    data-on=(lang.say("Changes appear by themselves", "变化会自动显示"))
                    data-off=(lang.say("The server cannot be reached", "无法连接服务器")) {}
            }
            (menu(visit))
        }
        @if live {
            p #offline aria-live="polite" data-says=(lang.say(
                "No connection to the server; trying again.",
                "与服务器的连接已断开，正在重试。",
            )) {}
        }
    }
}

/// Renders the menu with the signed-in user and the preferences.
fn menu(visit: &Visit) -> Markup {
    let lang = visit.lang();
    html! {
        details.menu {
            summary { (visit.me) " " span.hide { (lang.say("Settings", "设置")) } span aria-hidden="true" { "▾" } }
            div {
                form method="post" action="/taste" {
                    (hidden(visit))
                    label { (lang.say("Language", "语言")) }
                    div.choice role="group" aria-label=(lang.say("Language", "语言")) {
                        @for (one, name) in [(Lang::En, "English"), (Lang::Zh, "中文")] {
                            button name="lang" value=(one.code()) lang=(one.code())
                                aria-pressed=(one == lang) { (name) }
                        }
                    }
                    label { (lang.say("Colours", "配色")) }
                    div.choice role="group" aria-label=(lang.say("Colours", "配色")) {
                        @for (one, name) in [
                            (Theme::System, lang.say("System", "跟随系统")),
                            (Theme::Light, lang.say("Light", "浅色")),
                            (Theme::Dark, lang.say("Dark", "深色")),
                        ] {
                            button name="theme" value=(one.name()) aria-pressed=(one == visit.taste.theme) { (name) }
                        }
                    }
                    button.quiet formaction="/signout" { (lang.say("Sign out", "退出登录")) }
                }
                p.muted.small { (lang.say("Keys:", "快捷键：")) " " kbd { "?" } }
            }
        }
    }
}

/// Hidden fields of the menu's forms: the CSRF token and the URL to return to.
fn hidden(visit: &Visit) -> Markup {
    html! {
        input type="hidden" name="csrf" value=(visit.csrf);
        input type="hidden" name="back" value=(visit.back);
    }
}

/// Renders the list of keyboard shortcuts.
pub(crate) fn help(lang: Lang) -> Markup {
    let keys = [
        ("?", lang.say("this list", "显示本列表")),
        ("/", lang.say("go to the filter", "跳到筛选框")),
        ("j  k", lang.say("next, previous", "下一个、上一个")),
        (
            "h  l",
            lang.say("column to the left, to the right", "左边、右边一列"),
        ),
        ("Enter", lang.say("open", "打开")),
        (
            "[  ]",
            lang.say("move a task left, right", "把任务移到左边、右边"),
        ),
        ("Esc", lang.say("close", "关闭")),
    ];
    html! {
        dialog #help aria-label=(lang.say("Keys", "快捷键")) {
            div.row { h2.grow { (lang.say("Keys", "快捷键")) } button.quiet data-close type="button" { (lang.say("Close", "关闭")) } }
            div.keys {
                dl { @for (key, what) in keys { dt { @for one in key.split_whitespace() { kbd { (one) } " " } } dd { (what) } } }
                dl { @for one in Tab::ALL { dt { kbd { "g" } " " kbd { (tab::key(one)) } } dd { (one.name(lang)) } } }
            }
        }
    }
}

/// Renders the notice shown when a request does not reach the server.
pub(crate) fn lost(taste: Taste) -> Markup {
    let lang = taste.lang;
    html! {
        template #lost {
            div.notice.bad role="alert" {
                (close(lang))
                p { (lang.say("The server cannot be reached; nothing was done.", "无法连接服务器，操作没有执行。")) }
                p.hint { (lang.say("Is `polis serve` still running?", "`polis serve` 还在运行吗？")) }
            }
        }
    }
}
