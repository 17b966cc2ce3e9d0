//! Navigation bar, settings menu, keyboard help, and the offline notice: the parts around the content of
//! every page of a session. Pages for a visitor without a session have none of them.

use maud::{Markup, html};
use polis_i18n::msg;
use polis_view::UiLanguage;

use crate::assets;
use crate::error_page::render_close_button;
use crate::layout::Tab;
use crate::layout::tab;
use crate::request::preferences::{ColorTheme, Preferences};
use crate::request::request_context::RequestContext;

/// Renders the navigation bar: tabs, live-update indicator and settings menu.
pub(crate) fn render_navigation_bar(
    context: &RequestContext,
    at: Option<Tab>,
    live: bool,
) -> Markup {
    let lang = context.lang();
    html! {
        header.bar {
            a.brand href="/" { img src=(assets::asset_url("icon.svg")) alt=""; "polis" }
            span.project title=(msg::page_project(lang)) { (context.project_name()) }
            nav aria-label=(msg::page_main_navigation(lang)) {
                @for one in Tab::ALL.into_iter().filter(|one| tab::may_see_tab(*one, context)) {
                    a href=(tab::tab_url(one)) data-key=(tab::tab_shortcut_key(one)) aria-current=[(Some(one) == at).then_some("page")] {
                        (one.name(lang))
                    }
                }
            }
            @if live {
                span.pulse role="img" aria-label=(msg::page_live_updates(lang))
                    data-on=(msg::page_live_connected(lang))
                    data-off=(msg::page_live_disconnected(lang)) {}
            }
            (render_settings_menu(context))
        }
        @if live {
            p #offline aria-live="polite" data-says=(msg::page_live_connection_lost(lang)) {}
        }
    }
}

/// Renders the menu with the name of the session's agent, the preferences and "Sign out".
fn render_settings_menu(context: &RequestContext) -> Markup {
    let lang = context.lang();
    html! {
        details.menu {
            summary { (context.me) " " span.hide { (msg::page_settings(lang)) } span aria-hidden="true" { "▾" } }
            div {
                form method="post" action="/preferences" {
                    (render_menu_fields(context))
                    label { (msg::page_language(lang)) }
                    div.choice role="group" aria-label=(msg::page_language(lang)) {
                        @for (one, name) in [(UiLanguage::En, "English"), (UiLanguage::Zh, "中文")] {
                            button name="lang" value=(one.code()) lang=(one.code())
                                aria-pressed=(one == lang) { (name) }
                        }
                    }
                    label { (msg::page_colours(lang)) }
                    div.choice role="group" aria-label=(msg::page_colours(lang)) {
                        @for (one, name) in [
                            (ColorTheme::System, msg::page_colours_system(lang)),
                            (ColorTheme::Light, msg::page_colours_light(lang)),
                            (ColorTheme::Dark, msg::page_colours_dark(lang)),
                        ] {
                            button name="theme" value=(one.name()) aria-pressed=(one == context.preferences.theme) { (name) }
                        }
                    }
                    button.quiet formaction="/signout" { (msg::page_sign_out(lang)) }
                }
                p.muted.small { (msg::page_keys_label(lang)) " " kbd { "?" } }
            }
        }
    }
}

/// Hidden fields of the menu's forms: the CSRF token and the URL to return to.
fn render_menu_fields(context: &RequestContext) -> Markup {
    html! {
        input type="hidden" name="csrf" value=(context.csrf);
        input type="hidden" name="back" value=(context.return_url);
    }
}

/// Renders the list of keyboard shortcuts.
pub(crate) fn render_keyboard_help(lang: UiLanguage) -> Markup {
    let keys = [
        ("?", msg::page_key_show_list(lang)),
        ("/", msg::page_key_focus_filter(lang)),
        ("j  k", msg::page_key_move_selection(lang)),
        ("h  l", msg::page_key_change_column(lang)),
        ("Enter", msg::page_key_open(lang)),
        ("[  ]", msg::page_key_move_task(lang)),
        ("Esc", msg::page_key_close(lang)),
    ];
    html! {
        dialog #help aria-label=(msg::page_keys_title(lang)) {
            div.row { h2.grow { (msg::page_keys_title(lang)) } button.quiet data-close type="button" { (msg::common_close(lang)) } }
            div.keys {
                dl { @for (key, what) in keys { dt { @for one in key.split_whitespace() { kbd { (one) } " " } } dd { (what) } } }
                dl { @for one in Tab::ALL { dt { kbd { "g" } " " kbd { (tab::tab_shortcut_key(one)) } } dd { (one.name(lang)) } } }
            }
        }
    }
}

/// Renders the notice shown when a request does not reach the server.
pub(crate) fn render_offline_notice(preferences: Preferences) -> Markup {
    let lang = preferences.lang;
    html! {
        template #lost {
            div.notice.bad role="alert" {
                (render_close_button(lang))
                p { (msg::page_action_not_performed(lang)) }
                p.hint { (msg::page_action_not_performed_hint(lang)) }
            }
        }
    }
}
