/** Content: cards, badges, notices, tables, charts. */
export const content = `
.card { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); align-content: start; padding: var(--s4) var(--card) var(--card);
  background: var(--panel); border: 1px solid var(--line); border-radius: var(--round-l); box-shadow: var(--shadow) }
.card.flush { padding: 0; gap: 0 }
.card.flush > .card-head { padding: var(--s3) var(--card); border-bottom: 1px solid var(--line) }
.card.flush > .inside { padding: var(--card) }
.card.danger { border-color: color-mix(in srgb, var(--danger) 35%, var(--line)) }
.card-head { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: var(--s2) var(--s4) }
.card-head > div:first-child { flex: 1 1 8rem } .card-head > div:first-child:has(p) { flex-basis: 12rem }
.card-head p { max-width: 84ch; color: var(--soft); font-size: var(--text-s) }
.card-head .button.quiet.small { margin-right: calc(var(--s2) * -1) }
.stat { display: grid; gap: 0; padding: var(--s3) var(--card) var(--s4); background: var(--panel); border: 1px solid var(--line);
  border-radius: var(--round-l); box-shadow: var(--shadow); grid-template-columns: 1fr auto; align-items: end }
.stat .label { grid-column: 1 / -1; color: var(--soft); font-size: var(--text-s); font-weight: 520 }
.stat .value { font-size: 1.75rem; font-weight: 620; letter-spacing: -.03em; line-height: 1.2 }
.stat .hint { grid-column: 1 / -1 }

.badge { display: inline-flex; align-items: center; gap: .3rem; padding: 0 .5rem; border-radius: 1rem; background: var(--sunk); color: var(--soft);
  font-size: var(--text-xs); font-weight: 560; line-height: 1.6; white-space: nowrap; vertical-align: .1em }
.badge.dot::before { content: ''; width: .4rem; height: .4rem; border-radius: 50%; background: currentColor }
.badge.good { background: var(--accent-wash); color: var(--accent) }
.badge.warning { background: var(--warning-wash); color: var(--warning) }
.badge.bad { background: var(--danger-wash); color: var(--danger) }
.badge.info { background: var(--info-wash); color: var(--info) }

.notice { display: grid; grid-template-columns: auto 1fr; gap: .1rem .625rem; padding: var(--s3) var(--s4); border-radius: var(--round-l);
  background: var(--info-wash) }
.notice > svg { margin-top: .2rem; color: var(--info) }
.notice > div { display: grid; gap: var(--s1); min-width: 0 }
.notice.good { background: var(--accent-wash) } .notice.good > svg { color: var(--accent) }
.notice.warning { background: var(--warning-wash) } .notice.warning > svg { color: var(--warning) }
.notice.bad { background: var(--danger-wash) } .notice.bad > svg { color: var(--danger) }

.empty { display: grid; justify-items: center; gap: var(--s3); padding: var(--s7) var(--s4); text-align: center }
.empty > .picture { display: grid; place-items: center; width: 3.25rem; height: 3.25rem; border-radius: 1rem; background: var(--accent-wash); color: var(--accent) }
.empty p { color: var(--soft); max-width: 44ch }
.card:not(.flush) > .card-head ~ .empty { grid-template-columns: auto minmax(0, 1fr); align-items: center; justify-items: start; gap: 0 var(--s3); padding: 0; text-align: start }
.card-head ~ .empty > .picture { grid-row: span 2; width: 2.25rem; height: 2.25rem; border-radius: var(--round) } .card-head ~ .empty svg { width: 1.125rem; height: 1.125rem }
.card-head ~ .empty > h2 { font-size: var(--text-m) } .card-head ~ .empty > :is(p, .button, .facts) { grid-column: 2; font-size: var(--text-s) }
/* Limit the width of text and fields to a readable length. */
.settings { max-width: 58rem } .card > .confirm > .quiet { margin-inline-start: calc(var(--s2) * -1) } .card > .part { padding-top: var(--s4); border-top: 1px solid var(--line) }

.table { overflow-x: auto; max-width: 100% }
table { width: 100%; border-collapse: collapse; text-align: left }
.fixed table { table-layout: fixed }
.fixed th.narrow { width: 5.5rem } .fixed th.short { width: 8rem } .fixed th.time { width: 10.5rem } .fixed th.wide { width: 32% }
.fixed :is(th, td) time { white-space: normal }
caption { text-align: left }
th, td { padding: .5625rem var(--s3); vertical-align: middle; border-top: 1px solid var(--line) }
th:first-child, td:first-child { padding-left: var(--card) } th:last-child, td:last-child { padding-right: var(--card) }
thead th { border-top: 0; padding-block: .5rem; color: var(--soft); font-size: var(--text-s); font-weight: 520; white-space: nowrap }
tbody th { font-weight: 560 } tbody th .soft { font-weight: 400 }
tbody th a { color: inherit; text-decoration: none } tbody th a:hover { text-decoration: underline }
.card:not(.flush) :is(th, td):first-child { padding-left: 0 } .card:not(.flush) :is(th, td):last-child { padding-right: 0 }
tbody tr:hover { background: var(--hover) }
th.end, td.end { text-align: right } td.end .row { justify-content: flex-end } td.end form { justify-items: end }
.card.flush td.end .button.quiet:last-child { margin-right: calc(var(--s2) * -1) }
td time { white-space: nowrap }
.dense :is(th, td) { padding-block: .3125rem; vertical-align: baseline } .dense :is(td, time) { font-size: var(--text-s) }
/* A standalone link is high enough to be tapped. Links within a sentence are not. */
.alone, tbody :is(th, td) > a, tbody :is(th, td) > div > a:first-child, .facts dd > a:only-child { display: inline-block; min-height: 1.5rem }
@media (min-width: 48rem) { td select.input { width: auto; min-width: 100%; padding-left: var(--s2); padding-right: 1.5rem; background-position-x: right .5rem; font-size: var(--text-s) } }
td.numb, th.numb { text-align: right; white-space: nowrap }
.cut { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }
.who { display: inline-flex; align-items: center; gap: .625rem; min-width: 0; vertical-align: middle }
.who > div { min-width: 0; line-height: 1.35 }
.who a { display: inline-block; min-height: 1.5rem; color: inherit; font-weight: 560; line-height: 1.5rem; text-decoration: none } .who a:hover { text-decoration: underline }
.avatar { display: inline-grid; flex: none; place-items: center; width: 1.75rem; height: 1.75rem; border-radius: 50%; background: var(--accent-wash);
  color: var(--accent); font-size: var(--text-xs); font-weight: 650 }
.face { border-radius: 27% } :is(.face, symbol) > path { fill: currentColor; stroke: currentColor; stroke-width: .12 }
.bar { display: flex; flex-wrap: wrap; gap: var(--s3); align-items: center; padding: var(--s3) var(--card); border-bottom: 1px solid var(--line) }
.bar .filters { flex-wrap: wrap; align-items: center } .bar .filters > span { margin-inline-end: var(--s1) } .bar .filters a { white-space: nowrap }
.bar .affixed { flex: 1 1 9rem; max-width: 20rem }

.pages { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: var(--s2); padding: var(--s2) var(--card);
  border-top: 1px solid var(--line); color: var(--soft); font-size: var(--text-s) }
.tabs { display: flex; gap: var(--s1); overflow-x: auto; border-bottom: 1px solid var(--line); scrollbar-width: none }
.tabs a { display: inline-flex; align-items: center; gap: var(--s2); padding: var(--s2) var(--s3); border-bottom: 2px solid transparent; color: var(--soft);
  font-weight: 540; text-decoration: none; white-space: nowrap }
.tabs a:hover { color: var(--ink) }
.tabs a:focus-visible { outline-offset: -2px }
.tabs a[aria-current] { border-color: var(--accent); color: var(--ink) }

.folds { border: 1px solid var(--line); border-radius: var(--round) }
.fold > summary { display: flex; align-items: center; gap: var(--s2); padding: .5rem var(--s3); font-weight: 540 }
.fold > summary:hover { background: var(--hover) }
.fold > summary > svg { color: var(--soft); transition: rotate .12s }
.fold[open] > summary > svg { rotate: 90deg }
.fold > div { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); padding: var(--s1) var(--s3) var(--s4) }
.folds > .fold + .fold, .card.flush > .table + .fold { border-top: 1px solid var(--line) }
.card:not(.flush) > .fold > summary { margin-inline: calc(var(--s3) * -1) } .card:not(.flush) > .fold > div { padding-inline: 0; padding-bottom: 0 }
tbody .fold > summary { min-height: 1.5rem; padding: 0; width: max-content; color: var(--soft); font-size: var(--text-s); font-weight: 400 }
tbody .fold > summary:hover { background: none; color: var(--ink) }
tbody .fold > div { padding: var(--s2) 0; font-size: var(--text-s); font-weight: 400 }
.whole { white-space: nowrap }
.happened { font-weight: 400 } .happened :is(a, strong) { color: inherit; font-weight: 600 } .happened .badge { margin-right: var(--s2) }
.call { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s3) }
.changed { flex-basis: 100%; order: 1; padding: 0; list-style: none; color: var(--soft); font-size: var(--text-s); font-weight: 400; overflow-wrap: anywhere }
.changed bdi ~ bdi { color: var(--ink) }
.call > .happened { flex: 1 1 10rem; min-width: 0 } .call > .fold[open] { flex-basis: 100% }
.pairs { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s3); min-width: 0; font-size: var(--text-s) }
.pairs .badge, #agents td > .badge { display: block; width: max-content; max-width: 100%; overflow: hidden; text-overflow: ellipsis }

/* Hide the skills column to leave room for the alias. The agent's page lists the skills. */
@media (min-width: 48.01rem) and (max-width: 72rem) { #agents :is(th, td):last-child { display: none } }

/* Collapsible content, collapsed in narrow windows only. */
.card.flush > .fold > summary { padding-inline: var(--card) } .card.flush > .fold > div { padding: 0; gap: 0 }
.fold.narrow + * { border-top: 1px solid var(--line) }
@media (min-width: 48.01rem) {
  @supports selector(details::details-content) {
    .fold.narrow > summary { display: none }
    .fold.narrow::details-content { display: block; content-visibility: visible; block-size: auto }
  }
}
/* Content next to a column of facts. In narrow windows, the facts are above the content and collapsed. */
.with-facts { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); align-items: start }
.facts-fold > summary { border: 1px solid var(--line); border-radius: var(--round-l); background: var(--panel) }
.facts-fold > div { padding: var(--s3) 0 0 }
.facts-fold .facts { grid-template-columns: max-content minmax(0, 1fr); gap: var(--s2) var(--s4) }
/* A conversation embedded in a page. */
.posts > section { position: relative }
.posts .composer { border-radius: 0 0 var(--round-l) var(--round-l) }
.posts .scrolls { max-height: max(24rem, 100dvh - 20rem); overflow-y: auto }
.name-list { display: grid; gap: var(--s1); padding: 0; list-style: none }
.name-list > li { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 var(--s3); min-height: 1.5rem; overflow-wrap: anywhere }
.name-list a { display: inline-block; min-height: 1.5rem; color: inherit; font-weight: 540; text-decoration: none } .name-list a:hover { text-decoration: underline }
@media (min-width: 72rem) {
  .with-facts { grid-template-columns: minmax(0, 1fr) 20rem }
  .facts-fold { grid-column: 2 } .facts-fold + .stack { grid-area: 1 / 1 }
  /* Always open, except in browsers that cannot show the content of closed details. */
  @supports selector(details::details-content) {
    .facts-fold > summary { display: none } .facts-fold > div { padding: 0 }
    .facts-fold::details-content { display: block; content-visibility: visible; block-size: auto }
  }
}
.facts { display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: var(--s2) var(--s5); margin: 0 }
.facts dt { color: var(--soft) } .facts dd { margin: 0 } .empty .facts { text-align: start }
.copy-text { display: inline-flex; align-items: center; gap: var(--s1); max-width: 100%; color: var(--soft); font-size: var(--text-s) }
.copy-text code { overflow: hidden; text-overflow: ellipsis; white-space: nowrap } .copy-text .button { flex: none; min-height: 1.5rem; width: 1.5rem } .copy-text .done { color: var(--accent) }
.qr { display: block; width: 12rem; max-width: 100%; height: auto; border-radius: var(--round); border: 1px solid var(--line) }
.copy { margin: 0; border: 1px solid var(--line); border-radius: var(--round); background: var(--sunk); overflow: hidden }
.copy figcaption { display: flex; align-items: center; justify-content: space-between; gap: var(--s3); min-height: 2.25rem;
  padding: .2rem .25rem .2rem var(--s3); border-bottom: 1px solid var(--line); color: var(--soft); font-size: var(--text-s) }
.copy pre { margin: 0; padding: var(--s3); overflow-x: auto; line-height: 1.6; overflow-wrap: normal; tab-size: 2 }
.copy pre:focus-visible { outline-offset: -2px }
.copy.wrap pre { white-space: pre-wrap; overflow-wrap: anywhere }
.copy .button:focus-visible { outline-offset: -2px }
.copy .done { color: var(--accent) }
.said { margin: 0; padding: var(--s2) var(--s3); max-height: 16rem; overflow: auto; border: 1px solid var(--line); border-radius: var(--round);
  background: var(--sunk); font: inherit; font-size: var(--text-s); font-weight: 400; white-space: pre-wrap; overflow-wrap: anywhere }
.said mark { border-radius: var(--round-s); background: var(--danger-wash); color: var(--danger); text-decoration: underline; text-decoration-thickness: 2px }

.chart { margin: 0; display: grid; gap: var(--s2) }
.chart .plot { display: grid; grid-template-columns: auto minmax(0, 1fr) }
.chart svg { display: block; overflow: visible }
.chart text { fill: var(--soft); font: var(--text-xs)/1 var(--sans) }
.chart .rule { stroke: var(--line) }
.bar-of { fill: var(--accent) } .bar-of.danger { fill: var(--danger) } .bar-of.warning { fill: var(--warning) }
.bar-of.info { fill: var(--info) } .bar-of.ink { fill: var(--ink) } .bar-of.soft { fill: var(--soft) }
.legend { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4); padding: 0; list-style: none; color: var(--soft); font-size: var(--text-s) }
.chart .legend svg { display: inline-block; margin-inline-end: var(--s1); vertical-align: baseline } .legend strong { color: var(--ink) }
.hit { fill: transparent }
g:hover > .hit { fill: color-mix(in srgb, var(--ink) 6%, transparent) }
.timeline { display: grid; gap: 0; padding: 0; list-style: none }
.timeline > li { display: flex; gap: var(--s3); padding: .625rem var(--card); border-top: 1px solid var(--line) }
.timeline > li:first-child { border-top: 0 } .timeline > li:has(> div > .who) { align-items: center }
.timeline > li > div { min-width: 0; flex: 1 }
.timeline time { color: var(--soft); font-size: var(--text-s); white-space: nowrap }

@media (max-width: 48rem) {
  .app, .bare { --card: var(--s4) }
  .bar .filters { gap: 0 } .bar .filters a { padding-inline: .375rem }
  /* Wrap the tabs, so that all are visible. */
  .tabs { flex-wrap: wrap; border-bottom: 0 }
  .tabs a { padding: var(--s1) var(--s2); font-size: var(--text-s); border: 1px solid var(--line); border-radius: var(--round); background: var(--panel) }
  .tabs a[aria-current] { border-color: transparent; background: var(--accent-wash) }
  .facts { grid-template-columns: minmax(5.5rem, max-content) minmax(0, 1fr); gap: var(--s2) var(--s4) } .facts dt { max-width: 8.5rem }
  .grid.stats { grid-template-columns: repeat(3, minmax(0, 1fr)); gap: var(--s2) }
  .stat { padding: var(--s2) var(--s3) var(--s3); align-content: start } .stat .value { font-size: 1.375rem } .stat .hint { line-height: 1.35 }
  .table.stacks thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden }
  .table.stacks :is(table, tbody, tr, th, td) { display: block; width: auto }
  .table.stacks tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: var(--s1) var(--s4); padding: var(--s3) var(--card);
    border-top: 1px solid var(--line) }
  .table.stacks tbody tr:first-child { border-top: 0 }
  .card:not(.flush) .table.stacks tr { padding-inline: 0 }
  .table.stacks :is(th, td) { display: inline-flex; align-items: baseline; gap: var(--s2); max-width: 100%; padding: 0; border: 0;
    text-align: left; font-size: var(--text-s) }
  .table.stacks :is(th, td)::before { content: attr(data-label); flex: none; color: var(--soft); font-weight: 400 }
  .table.stacks tbody :is(th, .first, .unlabelled)::before { content: none }
  .table.stacks tbody :is(th, .first) { display: block; flex-basis: 100%; font-size: inherit }
  /* Form controls take a full line. */
  .table.stacks td:has(select, fieldset) { display: grid; grid-template-columns: 5rem minmax(0, 1fr); align-items: center; flex-basis: 100% }
  .table.stacks td:has(.confirm) { flex-basis: 100% }
  .table.stacks.dense tr { gap: 0 var(--s3); padding-block: var(--s2) }
  .table.stacks.dense td::before { content: none }
  /* At most two lines for the event, and one for its actor and time. An expanded row shows everything. */
  .table.stacks.dense .call { flex-wrap: nowrap; align-items: center } .table.stacks.dense .call:has(.fold[open], .changed) { flex-wrap: wrap }
  .table.stacks.dense .call:not(:has(.fold[open])) > .happened { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }
  .table.stacks.dense .label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  .table.stacks.dense .call summary { min-width: 1.5rem; justify-content: center }
  .table.stacks.dense tr:not(:has(.fold[open])) td { display: block; overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
  .table.stacks.dense td:nth-child(2) { flex: 1 1 0 } .table.stacks.dense td:last-child { flex: none }
  .table.stacks.dense td { color: var(--soft) } .table.stacks.dense td:last-child { margin-left: auto }
  .table.stacks td form.line { flex-wrap: wrap }
  .table.stacks td .button[data-when-changed]:disabled { display: none }
  .table.stacks td .row { justify-content: flex-start }
  .table.stacks td .button.quiet { padding-left: 0; margin-right: 0 }
}

/* A text written by a person or an agent. */
.text { display: grid; gap: var(--s2); grid-template-columns: minmax(0, 1fr); max-width: 68ch; overflow-wrap: anywhere }
.text :is(ul, ol) { padding-left: 0; padding-inline-start: 1.5rem }
.text .heading { font-weight: 620 }
.text blockquote { margin: 0; padding-inline-start: var(--s3); border-inline-start: 3px solid var(--line); color: var(--soft) }
.text pre { margin: 0; padding: var(--s3); overflow-x: auto; background: var(--sunk); border-radius: var(--round); white-space: pre }
.text pre.plain { padding: 0; background: none; font: inherit; white-space: pre-wrap }
.text table { width: auto; font-size: var(--text-s) } .text :is(th, td) { padding: var(--s1) var(--s3) } .text :is(th, td):first-child { padding-left: 0 }
.text .box { margin-inline-end: var(--s2) } .text li:has(> .box, > p:first-child > .box) { list-style: none; margin-inline-start: -1.25rem }
.text .host { color: var(--soft); font-size: var(--text-s) }
`
