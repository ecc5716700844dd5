/** Conversations: the list, the messages and their footers. */
export const conversation = `
.from > svg { width: 28px; height: 28px; border-radius: 27% } .faces svg { width: 26px; height: 26px; border-radius: 27% }
.symbols { position: absolute; width: 0; height: 0; overflow: hidden }
.channel-face { fill: var(--sunk) } .channel-face + g svg { stroke: var(--soft) }

.main.whole-window { display: flex; flex-direction: column; max-width: none; min-height: calc(100dvh - var(--head) - var(--bar, 0px)); padding: 0; gap: 0 }
/* If the page scrolls, a link to a message leaves the conversation's header visible. */
html:has(.whole-window) { scroll-padding-top: calc(var(--head) + 9rem) }
.whole-window > .notice { margin: var(--s3) var(--s4) 0 }
.conversations { flex: 1 0 auto; display: grid; grid-template-columns: 20rem minmax(0, 1fr) }
/* Messages are at least 12rem high in every window. If there is less room, the page scrolls. */
.conversations > section { display: grid; grid-template-rows: auto minmax(12rem, 1fr) auto; grid-template-columns: minmax(0, 1fr) }
.conversations > section:first-of-type { border-inline-end: 1px solid var(--line); background: var(--panel) }
.conversations .scrolls { contain: size; overflow-y: auto }
.pane-head { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s3); min-height: 3.25rem; padding: var(--s3) var(--s4); border-bottom: 1px solid var(--line) }
.pane-head .bar { flex: 1 1 100%; padding: 0; border: 0 }
.pane-head .back { display: none; flex-basis: 100%; align-items: center; gap: var(--s1); min-height: 1.5rem; font-size: var(--text-s) }
.pane-head .list .jump { padding: var(--s2) var(--s3); gap: var(--s2) } .pane-head .jump label { font-size: var(--text-s) }
.pane-head :is(h1, h2) { flex: 1 1 8rem; font-size: var(--text-l); overflow-wrap: anywhere }
#paused { flex-basis: 100% } #paused:empty { display: none }
.notice.paused { grid-template-columns: auto minmax(0, 1fr) auto; align-items: center } .notice.paused > svg { align-self: start }
.pane-head:has(.filters) > :is(h1, h2) { flex-basis: 100% }
.filters { display: flex; gap: var(--s1) }
.filters a { padding: var(--s1) var(--s2); border-radius: var(--round); color: var(--soft); font-size: var(--text-s); font-weight: 540; line-height: 1.5rem; text-decoration: none }
.filters a:hover { background: var(--hover); color: var(--ink) }
.filters a[aria-current] { background: var(--accent-wash); color: var(--ink) }

/* Lists that are read from the end are initially scrolled to the end, without script. */
.from-end { display: flex; flex-direction: column-reverse } .from-end > div { margin-bottom: auto }
.conversations > section { position: relative }
.pane-foot .to-now { position: absolute; inset: auto 0 var(--s4); width: max-content; margin-inline: auto; box-shadow: var(--lift) }
.pane-note { padding: var(--s2) var(--s5) 0; color: var(--soft); font-size: var(--text-s) }
.page-link { display: flex; justify-content: center; gap: var(--s2); padding: var(--s3) }
.messages > .day.new { color: var(--accent) } .messages > .day.new::before, .messages > .day.new::after { border-color: currentColor }

.threads { padding: 0; list-style: none }
.threads a { display: grid; grid-template: 'faces names at' auto 'faces preview count' auto / 2.375rem minmax(0, 1fr) auto; gap: 0 var(--s2); align-items: center;
  min-height: 3.25rem; padding: .375rem var(--s4); border-bottom: 1px solid var(--line); color: inherit; text-decoration: none }
.threads a:hover { background: var(--hover) }
.threads a[aria-current] { background: var(--accent-wash) }
.threads a:focus-visible { outline-offset: -2px }
.threads .faces { grid-area: faces; position: relative; width: 2.375rem; height: 2.375rem }
.threads .faces svg { position: absolute; inset: 0 auto auto 0 } .threads .faces svg + svg { inset: auto 0 0 auto; outline: 2px solid var(--panel) }
.threads .faces svg:only-child { inset: .375rem auto auto .375rem }
.threads :is(.names, .preview) { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, max-content); min-width: 0; white-space: pre }
/* Each part is truncated separately, and only if it exceeds its share of the width. The second name and the beginning of right-to-left text stay visible. */
.threads :is(.names, .preview) > * { min-width: 0; overflow: hidden; text-overflow: ellipsis }
.threads .names { grid-area: names; font-weight: 540 }
.threads .names > .soft { padding-inline-start: .4em }
.threads .new .names { font-weight: 650 }
.threads time { grid-area: at; color: var(--soft); font-size: var(--text-s); white-space: nowrap }
.threads .preview { grid-area: preview / preview / preview / -1; color: var(--soft); font-size: var(--text-s) } .threads .preview:not(:last-child) { margin-inline-end: 2.25rem }
.threads .count { grid-area: count; justify-self: end; min-width: 1.25rem; padding: 0 .375rem; border-radius: 1rem; background: var(--accent); color: var(--on-accent);
  font-size: var(--text-xs); font-weight: 650; line-height: 1.25rem; text-align: center }
.threads .dot { grid-area: count; justify-self: end; width: .5rem; height: .5rem; border-radius: 50%; background: var(--info) }

.messages { padding: var(--s3) var(--s5); list-style: none }
.messages > li { display: grid; grid-template-columns: 2.5rem minmax(0, 1fr); padding: .125rem var(--s2); border-radius: var(--round); scroll-margin-block: 4rem }
.messages > li.first { margin-top: var(--s3) }
.messages > li:target, .messages > li.unread { background: var(--info-wash) }
.messages > li > * { grid-column: 2 }
.messages .from { grid-column: 1 / -1; display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--s2) }
.messages .from > svg { margin-inline-end: .25rem } .messages .from b { font-weight: 620 }
.messages .quote { display: block; max-width: 68ch; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; padding-inline-start: var(--s2);
  border-inline-start: 3px solid var(--line); color: var(--soft); font-size: var(--text-s); line-height: 1.5rem; text-decoration: none }
.messages .quote:hover { color: var(--ink) }
.messages .below { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s3); min-height: 1.5rem; color: var(--soft); font-size: var(--text-s) }
.messages .below > a { display: inline-flex; align-items: center; gap: .375rem; min-width: 1.5rem; color: inherit; line-height: 1.5rem; text-decoration: none } .messages .below > a:hover { color: var(--ink); text-decoration: underline }
.messages .part { display: block; font-size: var(--text-s) } .messages :is(.part, .whole) a { display: inline-block; min-height: 1.5rem; line-height: 1.5rem }
.messages .picture img { display: block; max-width: 100%; max-height: 24rem }
/* Answers offered by an agent, styled as part of its message and unlike the grid's buttons. */
.offer { margin-top: var(--s1); padding: var(--s1) var(--s3) var(--s2); border-inline-start: 3px solid var(--info); background: var(--info-wash); border-radius: 0 var(--round) var(--round) 0 }
.offer :is(legend, p) { margin-bottom: var(--s1); color: var(--soft); font-size: var(--text-s); font-weight: 400 }
.offer :is(fieldset, ul) { display: flex; flex-wrap: wrap; gap: var(--s2); padding: 0; list-style: none }
.answer { display: inline-flex; align-items: center; gap: var(--s1); max-width: 100%; min-height: 2rem; padding: .25rem var(--s3); border: 1px dashed var(--edge); border-radius: 1rem; background: none; color: var(--soft);
  font: 400 var(--text-m)/1.3 var(--sans); text-align: start; overflow-wrap: anywhere }
button.answer { border: 1px solid var(--info); background: var(--panel); color: var(--info); cursor: pointer } button.answer:hover { background: var(--hover) }
button.answer[aria-busy] { opacity: .55; cursor: progress }
.answer.chosen { border: 1px solid var(--info); color: var(--ink); font-weight: 560 } .answer .soft { font-size: var(--text-s); font-weight: 400 }
.messages > .day { display: flex; align-items: center; gap: var(--s3); margin: var(--s4) 0 0; color: var(--soft); font-size: var(--text-s); font-weight: 540 }
.messages > .day::before, .messages > .day::after { content: ''; flex: 1; border-top: 1px solid var(--line) }

.messages > .note { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s2); margin: var(--s2) 0; padding: var(--s1) var(--s3); border-left: 3px solid var(--danger); background: var(--danger-wash); font-size: var(--text-s); overflow-wrap: anywhere }
.messages > .note .icon { align-self: center; color: var(--danger) } .messages > .note time { color: var(--soft) }

.state-line > summary, span.state-line { display: inline-flex; align-items: center; gap: .375rem; min-height: 1.5rem } .state-line > summary:hover { color: var(--ink) }
.state-line > summary::after { content: '\\203a'; transition: rotate .12s } .state-line[open] > summary::after { rotate: 90deg }
.state-line[open] { flex-basis: 100%; order: 1 }
.state-line > p { padding-bottom: var(--s2) }
.state-line ul { display: grid; gap: var(--s1); padding: 0 0 var(--s2) .125rem; list-style: none }
.state-line li { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s2) }
.state { flex: none; width: .5625rem; height: .5625rem; border-radius: 50%; color: var(--edge); box-shadow: inset 0 0 0 1.5px currentColor }
.state.waiting { color: var(--warning) } .state.leased { color: var(--info); background: linear-gradient(90deg, currentColor 50%, transparent 50%) }
.state.read { color: var(--accent); background: currentColor }
.state.replied { color: var(--accent); background: currentColor; border-radius: 0; box-shadow: none; clip-path: polygon(0 55%, 14% 40%, 38% 62%, 86% 8%, 100% 22%, 38% 92%) }
.state.released { color: var(--warning); background: currentColor; border-radius: 0 }
.state.parked { color: var(--danger); background: currentColor; border-radius: 0; box-shadow: none; clip-path: polygon(50% 0, 100% 100%, 0 100%) }

.messages.whole-message { padding: 0 } .whole-message .text { max-width: 74ch }
.chain { display: grid; gap: var(--s3); padding: 0; list-style: none }
.chain > li { display: grid; gap: var(--s1); padding-inline-start: var(--s3); border-inline-start: 2px solid var(--line) }
.chain > li > .from { display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--s2) } .chain .from b { font-weight: 620 }
.chain > [aria-current] { border-color: var(--accent); background: var(--accent-wash) }
.chain > .d1 { margin-inline-start: 1.25rem } .chain > .d2 { margin-inline-start: 2.5rem } .chain > .d3 { margin-inline-start: 3.75rem }
.chain > .d4 { margin-inline-start: 5rem } .chain > .d5 { margin-inline-start: 6.25rem } .chain > .d6 { margin-inline-start: 7.5rem }
.receipts { padding: 0; list-style: none } .receipts > li { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s3); padding: var(--s2) 0 }
.receipts > li + li { border-top: 1px solid var(--line) } .receipts .soft { font-size: var(--text-s) }

.keys { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: var(--s2) var(--s4); margin: 0 } .keys dd { margin: 0 } .keys a { display: inline-block; min-height: 1.5rem }
kbd { padding: .0625rem .375rem; border: 1px solid var(--line); border-radius: var(--round-s); background: var(--sunk); font: .8125rem/1.4 var(--mono) }

@media (max-width: 60rem) {
  .conversations { grid-template-columns: minmax(0, 1fr) }
  .conversations:not(.list-first):has(> section + section) > section:first-of-type, .list-first > section + section { display: none }
  .pane-head .back { display: flex }
  /* Do not highlight the current conversation, because it is not shown next to its list. */
  .threads a[aria-current]:not(:hover) { background: none }
}
@media (max-width: 48rem) { .chain > .d1 { margin-inline-start: .5rem } .chain > :is(.d2, .d3, .d4, .d5, .d6) { margin-inline-start: 1rem } .pane-note { padding-inline: var(--s3) } .messages { padding: var(--s2) } .pane-head { padding-inline: var(--s3) } .threads a { padding-inline: var(--s3) } }
.fresh { display: contents }
.not-sent { color: var(--danger); font-size: var(--text-s) }
/* A line of the header. All content below it makes room for the line. */
.head .live-paused { flex: 1 0 100%; max-width: none; height: 2rem; margin: 0; border-radius: var(--round-s) var(--round-s) 0 0; background: var(--warning-wash); font-size: var(--text-s); line-height: 2rem; text-align: center }
.head .live-paused:empty { display: none }
.app:has(.live-paused:not(:empty)) { --head: 5.25rem } .head:has(.live-paused:not(:empty)) { flex-wrap: wrap; align-content: space-between; row-gap: 0; padding-top: var(--s2) }
@media (prefers-reduced-motion: no-preference) { .arrived { animation: arrived 1.2s } }
@keyframes arrived { from { background: var(--hover) } }
`
