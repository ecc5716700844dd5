/** Elements without a class. */
export const base = `
*, *::before, *::after { box-sizing: border-box }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: calc(var(--head) + var(--s4)) }
body { margin: 0; min-height: 100dvh; background: var(--ground); color: var(--ink);
  font: var(--text-m)/1.55 var(--sans); font-variant-numeric: tabular-nums; -webkit-font-smoothing: antialiased;
  overflow-wrap: anywhere }
h1, h2, h3 { margin: 0; line-height: 1.25; text-wrap: balance; font-weight: 620 }
h1 { font-size: var(--text-xl); letter-spacing: -.02em }
/* Titles and leads in a right-to-left script keep their direction, but are aligned left. */
h1, .page-head p { unicode-bidi: plaintext; text-align: left }
h2 { font-size: var(--text-l); letter-spacing: -.01em }
h3 { font-size: var(--text-m) }
p { margin: 0; max-width: 68ch; text-wrap: pretty }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: 1px;
  text-decoration-color: color-mix(in srgb, currentColor 40%, transparent) }
a:hover { text-decoration-color: currentColor }
strong { font-weight: 620 }
/* User-chosen names do not reorder the surrounding text. */
bdi, strong, .happened a { unicode-bidi: isolate }
code, pre, kbd, samp { font-family: var(--mono); font-size: .92em }
:not(pre) > code { background: var(--sunk); border-radius: var(--round-s); padding: .1em .35em }
a > code { color: inherit }
ul, ol { margin: 0; padding-left: 1.25rem }
hr { border: 0; border-top: 1px solid var(--line); margin: var(--s2) 0; width: 100% }
svg { flex: none; vertical-align: middle }
summary { cursor: pointer; list-style: none }
summary::-webkit-details-marker { display: none }
[hidden] { display: none !important }
::selection { background: var(--accent); color: var(--on-accent) }

:focus { outline: none }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px }

.soft { color: var(--soft) }
.small { font-size: var(--text-s) }
.stack { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); align-content: start }
.stack.tight { gap: var(--s2) }
.stack.loose { gap: var(--s5) }
.icon { fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s3) }
.row.apart { justify-content: space-between }
.grid { display: grid; gap: var(--s4); grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)) }
.grid.halves { grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)) }
/* Absolutely positioned parts stay inside the scroll container. */
.scrolls, .scrolls-x, .table { position: relative }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.skip { position: fixed; z-index: 20; top: var(--s2); left: var(--s2); padding: var(--s2) var(--s4); background: var(--raised);
  color: var(--ink); border-radius: var(--round); transform: translateY(-200%) }
.skip:focus { transform: none; box-shadow: var(--lift) }

/* Hide elements that work only with script. */
@media (scripting: none) { [data-needs-script] { display: none !important } }
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { animation-duration: 1ms !important; transition-duration: 1ms !important; scroll-behavior: auto !important }
}
`
