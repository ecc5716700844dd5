/** The one style sheet, light and dark by the system. A string, so that the single binary carries it. */
export const styles = `
:root { color-scheme: light dark; --ink: light-dark(#1c2024, #e8eaed); --soft: light-dark(#5b6470, #9aa4b0);
  --ground: light-dark(#fbfbfa, #14161a); --panel: light-dark(#ffffff, #1c1f25); --line: light-dark(#e2e4e8, #2c313a);
  --accent: light-dark(#0a6e4f, #4fd1a1) }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 system-ui, sans-serif }
main { max-width: 46rem; margin: 0 auto; padding: 4rem 1.25rem }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.02em }
h2 { font-size: 1.05rem; margin: 2.5rem 0 .5rem }
p { margin: .5rem 0 1rem } .soft { color: var(--soft) }
a { color: var(--accent) }
code, pre { font: 14px/1.55 ui-monospace, monospace }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; overflow-x: auto; margin: .5rem 0 1rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.5rem; margin: 0 }
dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
`
