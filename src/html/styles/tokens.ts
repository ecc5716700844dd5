/**
 * The design tokens for light and dark. The rest of the style sheet refers to them. `test/html/contrast.test.ts` checks
 * the contrast of the colour pairs in use.
 */
export const tokens = `
:root {
  color-scheme: light dark;

  --ground: light-dark(#f6f7f5, #0f1211);
  --panel: light-dark(#ffffff, #161a19);
  --raised: light-dark(#ffffff, #1d2221);
  --sunk: light-dark(#eef1ef, #0b0e0d);
  --hover: light-dark(#edf0ee, #202625);

  --ink: light-dark(#16201c, #e7ecea);
  --soft: light-dark(#55615b, #9aa8a2);
  --line: light-dark(#e0e5e2, #272d2b);
  --edge: light-dark(#808b86, #6d7873);
  --focus: light-dark(#1769d2, #7db8ff);

  --accent: light-dark(#0a6b4e, #4fd1a1);
  --accent-strong: light-dark(#075840, #74e0b8);
  --on-accent: light-dark(#ffffff, #05251a);
  --accent-wash: light-dark(#e2f2eb, #12312a);
  --danger: light-dark(#b3261e, #ff9a91);
  --danger-strong: light-dark(#941d17, #ffb3ac);
  --on-danger: light-dark(#ffffff, #360a07);
  --danger-wash: light-dark(#fcebe9, #3a1b18);
  --warning: light-dark(#855000, #f0bb58);
  --warning-wash: light-dark(#fbf0da, #32270f);
  --info: light-dark(#1d5c9c, #86bff2);
  --info-wash: light-dark(#e5f0fa, #14293d);

  --shadow: 0 1px 2px light-dark(rgb(20 40 30 / .05), rgb(0 0 0 / .3));
  --lift: 0 10px 34px light-dark(rgb(20 40 30 / .16), rgb(0 0 0 / .55)), 0 2px 6px light-dark(rgb(20 40 30 / .08), rgb(0 0 0 / .4));

  --sans: Inter, -apple-system, 'Segoe UI Variable Text', 'Segoe UI', Roboto, Cantarell, 'Noto Sans', 'Liberation Sans', Arial, sans-serif;
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'Liberation Mono', monospace;
  --text-xs: .75rem; --text-s: .8125rem; --text-m: .9375rem; --text-l: 1.0625rem; --text-xl: 1.5rem; --text-xxl: 2.125rem;
  --s1: .25rem; --s2: .5rem; --s3: .75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2rem; --s7: 3rem;
  --round-s: .375rem; --round: .5rem; --round-l: .75rem;
  --control: 2.25rem; --head: 3.25rem; --side: 13.5rem; --card: 1.25rem;
}
:root[data-theme='light'] { color-scheme: light } :root[data-theme='dark'] { color-scheme: dark }
`
