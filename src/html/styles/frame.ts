/** Page layout: header, navigation, content, and pages outside an account. */
export const frame = `
.app { display: grid; grid-template: 'head head' auto 'side main' 1fr / var(--side) minmax(0, 1fr) }
.head { grid-area: head; position: sticky; top: 0; z-index: 10; display: flex; align-items: center; gap: var(--s2);
  min-height: var(--head); padding: 0 var(--s4); background: var(--panel); border-bottom: 1px solid var(--line) }
.mark { display: inline-flex; align-items: center; gap: var(--s2); color: var(--ink); font-weight: 650; letter-spacing: -.015em;
  min-height: 1.5rem; text-decoration: none; border-radius: var(--round-s) }
.mark svg { color: var(--accent) }
.head .mark + * { position: relative; margin-left: var(--s3) }
.head .mark + *::before { content: ''; position: absolute; left: calc(var(--s2) * -1 - 1px); top: .35rem; bottom: .35rem; border-left: 1px solid var(--line) }
.head .menu + * { margin-left: auto } .head .write + .user { margin-left: 0 }

.menu { position: relative; min-width: 0 }
.menu > summary { display: flex; align-items: center; gap: var(--s2); min-height: var(--control); padding: 0 var(--s2);
  border-radius: var(--round); font-weight: 550 }
.menu > summary:hover, .menu[open] > summary { background: var(--hover) }
.menu > summary .name { max-width: 14rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.menu > summary .chevron { color: var(--soft) }
.menu > .list { position: absolute; max-height: calc(100dvh - var(--head) - var(--bar, 0px) - var(--s4)); overflow-y: auto; z-index: 12; top: calc(100% + var(--s1)); left: 0; min-width: 15rem; max-width: min(22rem, 92vw);
  padding: var(--s1); background: var(--raised); border: 1px solid var(--line); border-radius: var(--round-l); box-shadow: var(--lift) }
.menu.end > .list { left: auto; right: 0 }
.menu.up > .list { top: auto; bottom: calc(100% + var(--s1)); left: auto; right: var(--s2) }
.menu .list form { gap: 0 }
.menu .list > p { padding: var(--s2) var(--s3) }
.menu .list > hr { margin: var(--s1) 0 }
.menu .item { display: flex; align-items: center; gap: var(--s2); width: 100%; min-height: var(--control); padding: var(--s1) var(--s3);
  border: 0; border-radius: var(--round); background: none; color: inherit; font: inherit; text-align: left; text-decoration: none; cursor: pointer }
.menu .item:hover { background: var(--hover) }
.menu .item .badge { margin-left: auto }
.menu .item[aria-current] { font-weight: 620 }

.side { grid-area: side; position: sticky; top: var(--head); align-self: start; padding: var(--s4) var(--s3) }
.side ul { display: grid; gap: 2px; padding: 0; list-style: none } .side ul + ul { margin-top: var(--s4) }
.side a { display: flex; align-items: center; gap: .625rem; min-height: 2.125rem; padding: 0 var(--s3); border-radius: var(--round);
  color: var(--soft); font-weight: 520; text-decoration: none; white-space: nowrap }
.side a:hover { background: var(--hover); color: var(--ink) }
.side a[aria-current] { background: var(--accent-wash); color: var(--ink); font-weight: 600 }
.side a[aria-current] svg { color: var(--accent) }

.bottom { display: none }
.bottom > ul { display: grid; grid-template-columns: repeat(5, auto); max-width: 40rem; margin: 0 auto; padding: 0; list-style: none }
.bottom li > a, .bottom summary { display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 2px;
  min-height: var(--bar); padding: 0; color: var(--soft); font-size: var(--text-xs); font-weight: 540; line-height: 1.3; text-decoration: none }
.bottom li > a:hover, .bottom summary:hover { color: var(--ink) }
.bottom li > a[aria-current], .bottom summary[aria-current] { color: var(--accent) }
.bottom li > a:focus-visible, .bottom summary:focus-visible { outline-offset: -2px }

.main { grid-area: main; display: grid; gap: var(--s5); align-content: start; grid-template-columns: minmax(0, 1fr);
  width: 100%; max-width: 74rem; padding: var(--s5) var(--s6) var(--s7) var(--s5) }
.main:focus-visible { outline: none }
.page-head { display: flex; flex-wrap: wrap; align-items: flex-start; justify-content: space-between; gap: var(--s3) var(--s5) }
.page-head > div:first-child { flex: 1 1 18rem; display: grid; gap: var(--s1) }
.page-head p { color: var(--soft) } h1:has(> svg) { display: flex; align-items: center; gap: var(--s3) } h1 > svg { flex: none }
.back.row { gap: var(--s1); width: max-content; min-height: 1.5rem; font-size: var(--text-s) }

.bare { display: grid; grid-template-rows: auto 1fr; justify-items: center; padding: var(--s7) var(--s4); gap: var(--s5) }
.bare main { display: grid; gap: var(--s4); align-self: start; width: 100%; max-width: 26rem; padding: var(--s6); background: var(--panel);
  border: 1px solid var(--line); border-radius: 1rem; box-shadow: var(--shadow); grid-template-columns: minmax(0, 1fr) }
.bare main > h1 + p { margin-top: calc(var(--s3) * -1); color: var(--soft) }
.bare.wide { justify-items: start; max-width: 50rem; margin: 0 auto; align-content: start }
.bare.wide main { max-width: none; padding: 0; background: none; border: 0; box-shadow: none; gap: var(--s5) }
.bare.wide h1 { font-size: var(--text-xxl) }
.bare.wide > header { display: flex; align-items: center; justify-content: space-between; width: 100% }
.bare main > h1 + p strong { color: var(--ink) }
.steps { display: grid; gap: var(--s5); grid-template-columns: minmax(0, 1fr); padding: 0; list-style: none; counter-reset: step }
.steps > li { display: grid; grid-template-columns: 1.75rem minmax(0, 1fr); gap: var(--s3); counter-increment: step }
.steps > li::before { content: counter(step); display: grid; place-items: center; width: 1.75rem; height: 1.75rem; border-radius: 50%;
  background: var(--accent-wash); color: var(--accent); font-size: var(--text-s); font-weight: 650 }
.steps > li.done::before { content: '\\2713'; background: var(--accent); color: var(--panel) }
.steps > li > div { display: grid; gap: var(--s2); grid-template-columns: minmax(0, 1fr); padding-top: .15rem }
.talk { display: grid; gap: var(--s3); padding: var(--card); background: var(--panel); border: 1px solid var(--line); border-radius: var(--round-l);
  box-shadow: var(--shadow); list-style: none }
.talk > li { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--s3); line-height: 1.4 }

/* Narrow windows: the sections are in the bottom bar instead of next to the page. */
@media (max-width: 60rem) {
  html { scroll-padding-bottom: 5rem }
  .app { --bar: 3.5rem; grid-template: 'head' auto 'main' 1fr / minmax(0, 1fr);
    padding-bottom: calc(var(--bar) + env(safe-area-inset-bottom)) }
  .side { display: none }
  .bottom { display: block; position: fixed; z-index: 11; inset: auto 0 0; padding-bottom: env(safe-area-inset-bottom);
    background: var(--panel); border-top: 1px solid var(--line) }
}

@media (max-width: 48rem) {
  .head { padding: 0 var(--s3) }
  .head .mark, .head .user { flex: none }
  .head .user > summary { min-width: 2.75rem }
  .head .write { flex: none; justify-content: center; width: var(--control); padding: 0 } .head .write span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .head .mark span, .head .user .name, .head .user .chevron { display: none }
  .head .menu > .list { position: fixed; top: calc(var(--head) + var(--s1)); left: var(--s2); right: var(--s2); max-width: none }
  .main { padding: var(--s4) var(--s4) var(--s7) }
  .bare { padding: var(--s5) var(--s3) }
  .bare main { padding: var(--s5) var(--s4) }
  .bare.wide { padding: var(--s5) var(--s4) }
  input, select, textarea { font-size: 1rem !important }
}

/* The opened menu also shows the role. */
@media (max-width: 22.5rem) { .head .menu > summary .badge { display: none } }
`
