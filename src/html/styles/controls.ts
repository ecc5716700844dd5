/** Buttons and form controls. */
export const controls = `
.button { display: inline-flex; align-items: center; justify-content: center; gap: var(--s2); min-height: var(--control);
  padding: .25rem var(--s3); border: 1px solid var(--edge); border-radius: var(--round); background: var(--panel); color: var(--ink);
  font: 560 var(--text-m)/1.2 var(--sans); text-decoration: none; overflow-wrap: normal; white-space: nowrap; cursor: pointer; transition: background .12s }
@media (max-width: 48rem) { .button { white-space: normal } }
.button:hover { background: var(--hover) }
.button.main-action { border-color: transparent; background: var(--accent); color: var(--on-accent) }
.button.main-action:hover { background: var(--accent-strong) }
.button.danger { border-color: transparent; background: var(--danger); color: var(--on-danger) }
.button.danger:hover { background: var(--danger-strong) }
.button.quiet { border-color: transparent; background: none; color: var(--soft) }
.button.quiet:hover { background: var(--hover); color: var(--ink) }
.button.plain.danger { border-color: var(--edge); background: var(--panel); color: var(--danger) }
.button.plain.danger:hover { background: var(--danger-wash) }
.button.quiet.danger { color: var(--danger) }
.button.quiet.danger:hover { background: var(--danger-wash); color: var(--danger) }
.button.small { min-height: 1.75rem; padding: .125rem var(--s2); font-size: var(--text-s) }
.button.icon { width: var(--control); padding: 0 }
.button.icon.small { width: 1.75rem }
.button.whole { width: 100% }
.button:disabled { opacity: .55; cursor: default }
.button[data-when-changed]:disabled { visibility: hidden }
.button[aria-busy] { opacity: .55; cursor: progress }
/* Ignore clicks that were meant for the previous page. */
[data-wait] { animation: wait .5s step-end }
@keyframes wait { from { pointer-events: none } }

form { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); margin: 0 }
input[type='file'] { max-width: 100%; min-height: 1.75rem }
form.line { display: flex; flex-wrap: wrap; align-items: flex-end; gap: var(--s3) }
form.line .field { flex: 1 1 12rem }
td form.line { flex-wrap: nowrap; align-items: center; gap: var(--s2) } td form.line .input { width: auto; min-width: 7rem }
form.line.query { padding: var(--s3) var(--card) var(--s4); border-bottom: 1px solid var(--line) }
form.line.query .field { flex-basis: 7rem }
form.line.query .field:has([type='date']) { flex-basis: 10.5rem; min-width: 10.5rem }
form.line.query .input { height: var(--control) }
form.line.query .choice { align-items: center; min-height: var(--control) } form.line.query .choice input { margin: 0 }
form .row:not(.stays) { margin-top: var(--s1) }
/* Keep lines short enough to read. */
form:not(.line) > :is(.field, .choices.cards, [class*='when-']) { max-width: 38rem }
/* At the end of the line, so that the button never covers the choices that scroll below it. */
.row.stays { justify-content: flex-end; position: sticky; bottom: 0; padding: var(--s4) 0 var(--s2); margin: calc(var(--s3) * -1) 0 calc(var(--s2) * -1);
  background: linear-gradient(transparent, var(--panel) var(--s4)) }
.more > summary { display: flex; align-items: center; gap: var(--s2); width: max-content; min-height: 1.75rem;
  color: var(--accent); font-weight: 560 }
.more > summary:hover { text-decoration: underline }
.more[open] > summary { margin-bottom: var(--s3) }
.field { display: grid; gap: var(--s1); min-width: 0 }
.field > label, legend { font-weight: 560; padding: 0 }
.optional { margin-left: .35em; color: var(--soft); font-weight: 400 }
.hint { max-width: 84ch; color: var(--soft); font-size: var(--text-s) }
.error { display: flex; gap: var(--s1); align-items: flex-start; color: var(--danger); font-size: var(--text-s); font-weight: 520 }
.error svg { margin-top: .2rem }
.input { width: 100%; min-height: var(--control); padding: .375rem .625rem; border: 1px solid var(--edge); border-radius: var(--round);
  background: var(--panel); color: inherit; font: inherit; line-height: 1.4 }
textarea.input { min-height: 4.75rem; resize: vertical; field-sizing: content; max-height: 24rem }
.input.mono { font-family: var(--mono); font-size: .875rem }
.input::placeholder { color: var(--soft); opacity: 1 }
.input:focus-visible { outline-offset: 0; border-color: var(--focus) }
.input[aria-invalid] { border-color: var(--danger) }
.input:disabled, .input[readonly] { background: var(--sunk) }
select.input { appearance: none; padding-right: 2rem; background-repeat: no-repeat; background-position: right .625rem center;
  background-image: url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='12' height='12' fill='none' stroke='%23808b86' stroke-width='1.75'%3E%3Cpath d='m2.5 4.5 3.5 3.5 3.5-3.5'/%3E%3C/svg%3E") }
.affix { display: flex; gap: var(--s2) }
.affixed { position: relative }
.affixed > .before { position: absolute; left: .625rem; top: 0; bottom: 0; display: grid; place-items: center; color: var(--soft); pointer-events: none }
.affixed > .before + .input { padding-left: 1.75rem }
.affixed:has(.mono) > .before { font: .875rem/1.4 var(--mono) }
.affixed > .before:has(svg) + .input { padding-left: 2.125rem }
fieldset.choices.line { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4) }
fieldset.choices.line .choice { align-items: center } fieldset.choices.line .choice input { margin: 0 }
fieldset { display: grid; align-content: start; gap: var(--s2); min-width: 0; margin: 0; padding: 0; border: 0 }
legend { margin-bottom: var(--s2) }
/* Fields that depend on a choice in the same form. */
form:has([name='type'][value='a2a']:not(:checked)) .when-remote,
form:not(:has([name='visibility'][value='public']:checked)) .when-public,
form:not(:has([name='fromKind'] [value='one']:checked)) .when-from,
form:not(:has([name='toKind'] [value='one']:checked)) .when-to,
form:not(:has([name='condition'][value='finding']:checked)) .when-finding,
form:not(:has([name='condition'][value='parts']:checked)) .when-parts { display: none }
form:has([name='accessPolicy'][value='auto_approve']:checked) .when-listed { display: none }
.choice { display: grid; grid-template-columns: auto 1fr; gap: 0 .625rem; align-items: start; min-height: 1.5rem; cursor: pointer }
.choice input { width: 1.125rem; height: 1.125rem; margin: .15rem 0 0; accent-color: var(--accent) }
.choice .hint { grid-column: 2 }
.choice .title { font-weight: 560; overflow-wrap: anywhere }
.choices.cards { gap: var(--s2) }
.choices.cards .choice { padding: .625rem var(--s3); border: 1px solid var(--line); border-radius: var(--round); background: var(--panel) }
.choices.cards .choice:hover { background: var(--hover) }
.choices.cards .choice:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent) }

.confirm { display: inline-block; position: relative }
.confirm > .list { display: grid; gap: var(--s3); margin-top: var(--s2); padding: var(--s4); max-width: 26rem; border: 1px solid var(--line);
  border-left: 3px solid var(--danger); border-radius: var(--round); background: var(--panel); text-align: left; white-space: normal }
.confirm[open] { display: block }
td .confirm > .list { min-width: 15rem }

dialog { width: min(34rem, calc(100vw - 2rem)); max-height: calc(100dvh - 2rem); margin: auto; padding: var(--s5); border: 1px solid var(--line);
  border-radius: 1rem; background: var(--raised); color: inherit; box-shadow: var(--lift); overflow: auto }
dialog[open] { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr) }
dialog::backdrop { background: light-dark(rgb(20 32 27 / .4), rgb(0 0 0 / .65)) }
dialog:not([open]):target { display: grid; gap: var(--s4); position: fixed; inset: 0; z-index: 15; height: fit-content }
.dialog-head { display: flex; align-items: flex-start; justify-content: space-between; gap: var(--s3) }
`
