/** What needs a person: rows with an action, and the number in the navigation. */
export const attention = `
.side a > .count, .bottom a > .count { padding: 0 .375rem; min-width: 1.25rem; border-radius: 1rem; background: var(--warning-wash); color: var(--warning);
  font-size: var(--text-xs); font-weight: 650; line-height: 1.25rem; text-align: center; white-space: nowrap; overflow-wrap: normal }
.side a > .urgent, .bottom a > .urgent { background: var(--danger-wash); color: var(--danger) }
.side a > .count { margin-inline-start: auto }
.bottom li > a { position: relative } .bottom a > .count { position: absolute; top: .25rem; inset-inline-start: calc(50% + .375rem) }

.filters.wraps { flex-wrap: wrap } .filters b { margin-inline-start: .125rem; font-weight: 650 }
.needs { padding: 0; list-style: none }
.needs > li { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: var(--s1) var(--s3); align-items: center; padding: var(--s3) var(--card) }
.needs > li + li { border-top: 1px solid var(--line) }
.needs .sign { display: grid; place-items: center; width: 2.25rem; height: 2.25rem; border-radius: var(--round); background: var(--info-wash); color: var(--info) }
.needs .sign.warning { background: var(--warning-wash); color: var(--warning) } .needs .sign.bad { background: var(--danger-wash); color: var(--danger) }
.needs .what { line-height: 1.4 } .needs .what > p { font-weight: 560 }
.needs .bad { color: var(--danger) } .needs .what > div { color: var(--soft); font-size: var(--text-s) } .needs .what span + span::before { content: ' \\b7\\20' }
.needs > li:has(.said) { align-items: start } .needs .said { margin-top: var(--s2); list-style: none; color: var(--soft) } .needs .said b { color: var(--ink); font-weight: 560 } .needs .said li + li { margin-top: var(--s1) }
.needs .row { flex-wrap: nowrap; gap: var(--s2) }
.needs .menu > summary { min-height: 1.75rem; color: var(--soft); font-size: var(--text-s) }
.needs .menu > .list { min-width: 11rem }
.card.flush > .inside.checked { max-width: none; padding: var(--s2) var(--card); border-top: 1px solid var(--line); color: var(--soft); font-size: var(--text-s) }
@media (max-width: 48rem) {
  .needs > li { grid-template-columns: auto minmax(0, 1fr); align-items: start; padding: var(--s3) var(--s4) }
  .needs .row { grid-column: 2 }
  .needs .menu.end > .list { right: auto; left: 0 }
}

.calm { padding: var(--s3) var(--card); border: 1px solid var(--line); border-radius: var(--round-l); background: var(--panel); color: var(--soft) }
.news { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)) }
.news > section { min-width: 0 } .news h3 { padding: var(--s2) var(--s4); color: var(--soft); font-size: var(--text-s); font-weight: 540 }
.plot-of svg { grid-column: 1 / -1; display: block; margin-top: var(--s2) } .plot-of .axis { stroke: var(--line) }
.scrolls-x { overflow-x: auto } .numbers :is(th, td) { padding: var(--s1) var(--s3); text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap }
.numbers :is(th:first-child) { text-align: start }

.meter { display: grid; gap: var(--s1) } .meter > div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 var(--s3) }
.meter progress { appearance: none; display: block; width: 100%; height: .375rem; border: 0; border-radius: 1rem; background: var(--sunk); overflow: hidden }
.meter progress::-webkit-progress-bar { background: var(--sunk) } .meter progress::-webkit-progress-value { border-radius: 1rem; background: var(--accent) }
.meter progress::-moz-progress-bar { border-radius: 1rem; background: var(--accent) }
.meter.warning progress::-webkit-progress-value { background: var(--warning) } .meter.warning progress::-moz-progress-bar { background: var(--warning) }
`
