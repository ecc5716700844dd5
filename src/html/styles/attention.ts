/** Items that need a person: rows with actions, and the count in the navigation. */
export const attention = `
.side a > .count, .bottom a > .count { padding: 0 .375rem; min-width: 1.25rem; border-radius: 1rem; background: var(--warning-wash); color: var(--warning);
  font-size: var(--text-xs); font-weight: 650; line-height: 1.25rem; text-align: center; white-space: nowrap; overflow-wrap: normal }
.side a > .urgent, .bottom a > .urgent { background: var(--danger-wash); color: var(--danger) }
.side a > .count { margin-inline-start: auto }
.bottom li > a { position: relative } .bottom a > .count { position: absolute; top: .25rem; inset-inline-start: calc(50% + .375rem) }

.filters.wraps { flex-wrap: wrap } .filters b { margin-inline-start: .125rem; font-weight: 650 }
.summary { display: flex; flex-wrap: wrap; gap: 0 var(--s2); max-width: none; color: var(--soft) } .summary > :not(:last-child)::after { content: '\\b7'; margin-inline-start: var(--s2); color: var(--soft) }
.summary a { display: inline-block; min-height: 1.5rem; color: inherit; text-decoration: none } .summary a:hover { text-decoration: underline } .summary b { color: var(--ink); font-weight: 620 } .summary .bad, .summary .bad b { color: var(--danger) }
.needs { padding: 0; list-style: none } .card:has(> .needs) > .card-head { padding-block: var(--s2); min-height: 2.75rem } .card:has(> .needs) h2 { font-size: var(--text-m) }
.needs > li + li, .needs details > .needs { border-top: 1px solid var(--line) }
.needs .line { position: relative; display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--s3); min-height: 2.75rem; padding: var(--s1) var(--card) }
.needs .line:hover { background: var(--hover) } .needs details > .needs .line { padding-inline-start: calc(var(--card) + var(--s5)) }
.needs summary { position: relative } .needs summary > .icon { position: absolute; inset-inline-end: var(--card); top: calc(50% - 7px); color: var(--soft); transition: rotate .12s } .needs details[open] > summary > .icon { rotate: 90deg }
.needs summary .line { padding-inline-end: calc(var(--card) + var(--s5)) }
.needs .sign { display: grid; flex: none; place-items: center; width: 1.75rem; height: 1.75rem; border-radius: var(--round); background: var(--info-wash); color: var(--info) }
.needs .sign.warning { background: var(--warning-wash); color: var(--warning) } .needs .sign.bad { background: var(--danger-wash); color: var(--danger) }
.needs .sign > svg:not(.icon) { width: 1.75rem; height: 1.75rem; border-radius: 27% }
.needs .what { display: flex; flex: 1 1 0; gap: var(--s3); align-items: baseline; min-width: 0; line-height: 1.4; white-space: nowrap }
.needs .what > * { min-width: 0; text-wrap: nowrap; overflow: hidden; text-overflow: ellipsis } .needs .what > p { flex: 0 1 auto; max-width: none } .needs .what > div { flex: 1 8 0; min-width: 25% } .needs .what > div:empty { display: none }
.needs .what > div, .needs .at { color: var(--soft); font-size: var(--text-s) } .needs .what div > span + span::before { content: ' \\b7\\20' }
.needs .at { flex: none; min-width: 5rem; text-align: end; white-space: nowrap } .needs .bad { color: var(--danger) } .needs .urgent .what > p { font-weight: 650 } .needs .urgent .soft { font-weight: 400 }
.needs .open { display: block; overflow: inherit; text-overflow: inherit; min-height: 1.5rem; line-height: 1.5rem; color: inherit; text-decoration: none } .needs .open::after { content: ''; position: absolute; inset: 0 }
.needs .open:focus-visible { outline: none } .needs .open:focus-visible::after, .needs summary:focus-visible { outline: 2px solid var(--focus); outline-offset: -2px }
.needs :is(.row, .more) { position: relative; z-index: 1 } .needs .row:has(.menu[open]) { z-index: 2 } .needs .row { flex: none; flex-wrap: nowrap; gap: var(--s1) } .needs .more { flex: 1 0 100%; padding: 0 0 var(--s2) 2.5rem }
.needs .dot { flex: none; width: .5rem; height: .5rem; border-radius: 50%; background: var(--info) }
.needs .said { list-style: none; color: var(--soft) } .needs .said b { color: var(--ink); font-weight: 560 } .needs .said li + li { margin-top: var(--s1) }
.needs .row .offer { margin: 0; padding: 0; border: 0; background: none } .needs .row .offer legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) } .needs .row .answer { min-height: 1.75rem; padding-block: 0 }
.needs .menu > summary { min-height: 1.75rem; color: var(--soft); font-size: var(--text-s) }
.needs .menu > summary .icon { position: static }
.needs .menu > .list { min-width: 11rem }
.subjects .what > p { flex: 0 0 11rem } .subjects .at { color: var(--accent) }
.card.flush > .inside.checked { max-width: none; padding: var(--s2) var(--card); border-top: 1px solid var(--line); color: var(--soft); font-size: var(--text-s) }
@media (max-width: 48rem) {
  .needs .line { gap: 0 var(--s2); padding-inline: var(--s4) } .needs .more { padding-inline-start: 0 }
  .needs .at { min-width: 0 } .needs .word { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .needs.short .what > div, .needs.short .button.quiet, .needs.short .line:has(.row .button:not(.quiet)) .at { display: none }
  .needs:not(.short) .what { flex-direction: column; align-items: stretch; gap: 0; padding-block: var(--s1) } .needs:not(.short) .what > p { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; text-wrap: wrap } .needs:not(.short) .open { overflow: visible } .needs:not(.short) .row > form:first-child > .quiet { margin-inline-start: calc(var(--s2) * -1) } .needs:not(.short) .what > div { flex: none }
  .needs .row:has(.offer, form + form), .needs:not(.short) .row:has(.button) { flex-basis: 100%; flex-wrap: wrap; order: 1; padding: 0 0 var(--s1) 2.25rem } .needs .more { order: 2 }
  .needs .menu.end > .list { right: auto; left: 0 }
  .subjects .what > p { flex-basis: auto } .subjects .what > div { white-space: normal; text-wrap: wrap }
}

.plot-of svg { grid-column: 1 / -1; display: block; margin-top: var(--s2) }
.card > .plot-of { grid-template-columns: 7.25rem minmax(0, 1fr); gap: 0 var(--s3); padding: 0; border: 0; border-radius: 0; background: none; box-shadow: none }
.card > .plot-of .label { grid-column: 1 } .card > .plot-of .value { font-size: var(--text-l) } .card > .plot-of svg { grid-area: 1 / 2 / span 2; margin: 0 }
 .plot-of .axis { stroke: var(--line) }
.scrolls-x { overflow-x: auto } .numbers :is(th, td) { padding: var(--s1) var(--s3); text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap }
.numbers :is(th:first-child) { text-align: start }

.meter { display: grid; gap: var(--s1) } .meter > div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 var(--s3) }
.meter progress { appearance: none; display: block; width: 100%; height: .375rem; border: 0; border-radius: 1rem; background: var(--sunk); overflow: hidden }
.meter progress::-webkit-progress-bar { background: var(--sunk) } .meter progress::-webkit-progress-value { border-radius: 1rem; background: var(--accent) }
.meter progress::-moz-progress-bar { border-radius: 1rem; background: var(--accent) }
.meter.warning progress::-webkit-progress-value { background: var(--warning) } .meter.warning progress::-moz-progress-bar { background: var(--warning) }
`
