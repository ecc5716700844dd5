/** The search, its results, and the dialog that finds names. */
export const search = `
.search-link kbd { margin-inline-start: var(--s1) }
.search, .search > form, .search > section { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr) }
.search > form .affixed { flex: 1 1 14rem; max-width: 44rem }
.search-filters { display: flex; flex-wrap: wrap; gap: var(--s2) var(--s3); align-items: end }
.search-filters > label { display: grid; gap: 2px; flex: 0 1 10.5rem; min-width: 0 } .search-filters .input { width: 100%; min-width: 0 }
.search-filters fieldset { display: flex; flex-wrap: wrap; gap: 0 var(--s4); min-height: var(--control); align-items: center; margin: 0; padding: 0; border: 0 }
.search-filters fieldset label { display: inline-flex; align-items: center; gap: var(--s2); min-height: 1.75rem }
.search-total { display: flex; flex-wrap: wrap; align-items: baseline; gap: var(--s2) }
.search mark { background: var(--warning-wash); color: inherit; font-weight: 620; border-radius: 2px }
.hits, .found-names { padding: 0; list-style: none }
.hits { background: var(--panel); border: 1px solid var(--line); border-radius: var(--round-l); overflow: hidden }
.hits a { display: grid; grid-template: 'face names at' auto 'face excerpt excerpt' auto / 1.75rem minmax(0, 1fr) auto; gap: 0 var(--s3);
  padding: var(--s2) var(--s4); color: inherit; text-decoration: none }
.hits li + li { border-top: 1px solid var(--line) }
.hits a:hover, .found-names a:hover { background: var(--hover) }
.hits a:focus-visible, .found-names a:focus-visible { outline-offset: -2px }
.hits svg { grid-area: face; width: 1.75rem; height: 1.75rem; margin-top: 2px; border-radius: var(--round-s) }
.hits .names { grid-area: names; font-weight: 560; overflow-wrap: anywhere }
.hits time { grid-area: at; color: var(--soft); font-size: var(--text-s); white-space: nowrap }
.hits .excerpt { grid-area: excerpt; max-width: 80ch; color: var(--soft); overflow-wrap: anywhere } .hits mark { color: var(--ink) }
.found-names a { display: flex; justify-content: space-between; align-items: center; gap: var(--s3); min-height: 2.25rem; padding: var(--s1) var(--s4);
  color: inherit; text-decoration: none; overflow-wrap: anywhere }
.found-names a > span:last-child { flex: none }
.found-names li + li { border-top: 1px solid var(--line) }
#jump { margin-top: 12vh; padding: var(--s4) } #jump form { gap: var(--s3) } #jump .found-names a { padding-inline: var(--s2) }
@media (max-width: 64rem) { .search-link kbd { display: none } }
@media (max-width: 48rem) { .head .search-link { flex: none; justify-content: center; width: var(--control); padding: 0 }
  .head .search-link span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) } .search-filters > label { flex: 1 1 10.25rem } }
`
