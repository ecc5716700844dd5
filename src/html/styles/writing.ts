/** The message editor, and messages that wait for a decision. */
export const writing = `
.composer { display: grid; grid-template-columns: minmax(0, 1fr) auto; align-items: center; gap: var(--s2) var(--s3); padding: var(--s2) var(--s4); border-top: 1px solid var(--line); background: var(--panel) }
.composer > * { grid-column: 1 / -1 } .composer > form { grid-column: 1; gap: var(--s2) } .composer > form:last-child:not(.marks ~ *) { grid-column: 1 / -1 }
.composer > .marks { grid-column: 2; order: 1; align-self: end; min-height: 2.75rem; align-items: center }
.composer .answering { display: flex; align-items: center; gap: var(--s1); min-width: 0 }
.composer .quote { flex: 1; min-width: 0; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; padding-inline-start: var(--s2);
  border-inline-start: 3px solid var(--accent); color: var(--soft); font-size: var(--text-s); line-height: 1.75rem; text-decoration: none }
.composer .waits { flex-wrap: nowrap; justify-content: space-between; padding-inline: var(--s3) var(--s1); border-radius: var(--round); background: var(--warning-wash); color: var(--warning); font-size: var(--text-s) }
.composer > #waits:empty { display: none } .composer .row { margin: 0 }
.marks { display: flex; flex-wrap: wrap; justify-content: flex-end; gap: var(--s1) } .marks form[hidden] { display: none } .marks:not(:has(> :not([hidden]))) { display: none }
.pane-foot:has(.composer) .to-now { inset-block-end: calc(100% + var(--s2)) } .pane-foot:has(.composer) { position: relative }

.entry { position: relative; display: grid; grid-template: 'files files files files' auto 'until until until until' auto 'clip text expiry send' auto / auto minmax(0, 1fr) auto auto;
  align-items: end; column-gap: var(--s1); max-width: 38rem; padding: .1875rem; border: 1px solid var(--edge); border-radius: var(--round-l); background: var(--panel) }
.composer .entry { max-width: 60rem }
.entry:has(textarea:focus-visible) { outline: 2px solid var(--focus); outline-offset: 0; border-color: var(--focus) }
.entry.over { border-color: var(--accent); background: var(--accent-wash) }
.entry > .clip { grid-area: clip } .entry > .main-action { grid-area: send }
.entry > .button { width: var(--control); padding: 0 }
.entry > .button:has(:focus-visible) { outline: 2px solid var(--focus); outline-offset: -2px }
.entry > .field.field { grid-area: text; max-width: none }
.entry textarea.input { min-height: var(--control); max-height: min(12rem, 25dvh); padding: .45rem var(--s1); border: 0; background: none; resize: none; outline: 0 }
/* On the page Write, the text field has several lines, above the buttons. */
.entry:has(textarea:not([rows='1'])) { grid-template-areas: 'files files files files' 'until until until until' 'text text text text' 'clip . expiry send' }
.entry textarea.input:not([rows='1']) { min-height: 6rem; max-height: 24rem; padding-inline: var(--s3) }
/* A long placeholder is truncated to one line. */
.entry textarea[rows='1']:placeholder-shown { white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
.entry .field .hint { display: none; position: absolute; inset: auto 0 calc(100% + .75rem) auto; margin: 0; padding: 0 var(--s2); border: 1px solid var(--line); border-radius: var(--round); background: var(--panel); font-size: var(--text-s) }
@media (pointer: fine) and (scripting: enabled) { .entry:has(textarea:focus:not(:placeholder-shown)) .hint { display: block } }
.entry .field .error { padding: 0 var(--s1) var(--s1) }
.entry > .not-sent { grid-column: 1 / -1; padding: 0 var(--s3) var(--s1) }
.entry:has(textarea:placeholder-shown) > .main-action:not(:hover) { background: none; color: var(--soft) }
.entry > .expiry { grid-area: expiry; position: relative }
.entry > .expiry > select { position: absolute; inset: 0; min-height: 0; opacity: 0; cursor: pointer }
.entry > .expiry:has(option:checked:not([value=''])) { grid-area: until; justify-self: start; width: auto; padding-inline-start: .5625rem; color: var(--ink) }
.entry > .expiry:has(option:checked:not([value=''])) > select { position: static; width: auto; field-sizing: content; border: 0; background-color: transparent; opacity: 1; font-weight: 400; outline: 0; font-size: var(--text-s) }
.chips { grid-area: files; display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s2); min-width: 0 } .chips:not(:empty) { padding: var(--s1) }
.chip { display: inline-flex; align-items: center; gap: var(--s2); max-width: 100%; padding-inline-start: var(--s3); border-radius: 1rem; background: var(--sunk); font-size: var(--text-s); white-space: nowrap }
.chip bdi { min-width: 0; overflow: hidden; text-overflow: ellipsis } .chip .button { flex: none; width: 1.75rem; min-height: 1.75rem; padding: 0; border-radius: 50% }
.row > select.input { width: auto }
@media (scripting: none) {
  .entry .clip { grid-area: files; justify-self: start; width: auto; padding-inline: var(--s2) } .entry .clip input { position: static; width: auto; height: auto; margin: 0; clip-path: none }
  @supports not (field-sizing: content) { .entry textarea.input { min-height: 4.75rem } }
}
@media (max-width: 48rem) {
  .composer { padding-inline: var(--s3) } .composer > form { grid-column: 1 / -1 } .composer > .marks { grid-column: 1 / -1; order: 0; min-height: 0 }
  .notice.paused > form { grid-column: 2; justify-self: start }
}

p:has(> .line-of-facts) { max-width: none } .line-of-facts > span + span::before { content: ' \\b7\\20' } .line-of-facts time { white-space: nowrap } .line-of-facts .bad { color: var(--danger); font-weight: 560 }
.around { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4); font-size: var(--text-s) } .around > * { min-height: 1.5rem }
.said.whole { max-width: 74ch; max-height: none; padding: 0; border: 0; background: none; font: inherit; font-size: 1.1875rem; line-height: 1.5 }
.card > .part > a { display: inline-block; min-height: 1.5rem; font-weight: 500 } .card > .part > .said { margin-top: var(--s2) }
.delivered { font-size: var(--text-s) } .delivered dd > .said { max-height: 12rem }
/* The decision buttons stay visible while the reader scrolls through a long message. */
.decide { position: sticky; z-index: 5; bottom: 0; display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); margin-inline: calc(-1 * var(--s1)); padding: var(--s3) var(--s1) var(--s4); background: linear-gradient(transparent, var(--ground) var(--s3)) }
.decide > .fold > summary { display: inline-flex; align-items: center; justify-content: center; min-height: var(--control); padding: .25rem var(--s4); border: 1px solid var(--edge); border-radius: var(--round); background: var(--panel); color: var(--ink); font-weight: 560 }
.decide > .fold > summary:hover { background: var(--hover) } .decide > .fold > summary > svg { display: none }
.decide > form > .button { padding-inline: var(--s5) } .decide > form + .fold > summary { color: var(--danger) }
.decide > .fold[open] { order: 1; flex-basis: 100%; max-height: 60dvh; overflow-y: auto; padding: var(--s3); border: 1px solid var(--line); border-radius: var(--round-l); background: var(--panel) }
.decide > .fold[open] > summary { justify-content: flex-start; min-height: 1.75rem; padding: 0; border: 0 }
.decide > .fold > div { max-width: 38rem; padding: 0 }
@media (max-width: 48rem) {
  .decide { bottom: calc(var(--bar) + env(safe-area-inset-bottom)) } .decide > form:first-child, .decide > form + .fold:not([open]) { flex: 1 1 5rem }
  .decide > form > .button, .decide > .fold:not([open]) > summary { width: 100%; min-height: 3rem; padding-inline: var(--s3) }
}
@media (max-height: 30rem) { .decide { position: static } }
@media (max-width: 48rem), (hover: none) { .sends { display: none } }
`
