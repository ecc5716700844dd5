/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { expect, test } from 'vitest'
import { Markdown } from '../../src/html/markdown.tsx'

const html = (text: string) => String(<div>{<Markdown text={text} />}</div>).slice('<div>'.length, -'</div>'.length)

test.each([
  ['plain', '<p dir="auto">plain</p>'],
  ['one\ntwo', '<p dir="auto">one<br/>two</p>'],
  ['**a** *b* ~~c~~ `d`', '<p dir="auto"><strong>a</strong> <em>b</em> <s>c</s> <code>d</code></p>'],
  ['# Title', '<p class="heading" dir="auto">Title</p>'],
  ['* a\n* b', '<ul dir="auto"><li dir="auto">a</li><li dir="auto">b</li></ul>'],
  ['3. a\n4. b', '<ol dir="auto" start="3"><li dir="auto">a</li><li dir="auto">b</li></ol>'],
  ['> said', '<blockquote dir="auto"><p dir="auto">said</p></blockquote>'],
  ['```js\nif (a < b) c()\n```', '<pre dir="ltr" tabindex="0"><code>if (a &lt; b) c()\n</code></pre>'],
  ['---', '<hr/>'],
  ['|a|b|\n|-|-|\n|1|2|', '<th dir="auto">a</th>'],
  ['|a|\n|-|\n|1|', '<div class="table" role="region" aria-label="Table" tabindex="0"><table>'],
  ['- [x] a', '<li dir="auto"><span class="box" role="img" aria-label="done">☑</span>a</li>'],
  ['- [ ] a\n\n- b', '<p dir="auto"><span class="box" role="img" aria-label="to do">☐</span>a</p>'],
  ['[x] a', '<p dir="auto">[x] a</p>'],
  ['مرحبا', '<p dir="auto">مرحبا</p>'],
])('the Markdown text %j is shown as %s', (text, expected) => {
  expect(html(text)).toContain(expected)
})

test('a link shows its target, and sends the target no referrer', () => {
  const link = 'href="https://evil.example/x" rel="noopener noreferrer nofollow" target="_blank"'

  expect(html('[bank.example](https://evil.example/x)')).toContain(`<a ${link}>bank.example</a> `)
  expect(html('[bank.example](https://evil.example/x)')).toContain('(<bdi>evil.example</bdi>)')
  expect(html('see https://evil.example/x')).toBe(`<p dir="auto">see <a ${link}>https://evil.example/x</a></p>`)
  expect(html('https://раyраl.example')).toContain('<bdi>xn--')
  expect(html('[раyраl](https://раyраl.example)')).toContain('<bdi>xn--')
})

test.each([
  'javascript:alert(1)',
  'vbscript:x',
  'data:text/html,<script>alert(1)</script>',
  'file:///etc/passwd',
  'cursor://x',
  'tel:1',
  '//evil.example',
  '/accounts/x/settings',
])('the URL %s does not become a link', (address) => {
  expect(html(`[x](${address}) <${address}>`)).not.toContain('<a')
})

test('an image is not loaded, and its host is shown', () => {
  expect(html('![chart](https://tracker.example/p.gif?who=me)'))
    .toBe(
      '<p dir="auto"><span class="host">[image: <bdi>chart</bdi>, not loaded: <bdi>tracker.example</bdi>]</span></p>',
    )
})

test('HTML in a message is shown as text', () => {
  const text = '<img src=x onerror=alert(1)><script>alert(1)</script>\n\n<div style="position:fixed">x</div>'

  expect(html(text)).not.toMatch(/<(?!\/?p\b|br)/)
  expect(html(text)).toContain('&lt;script&gt;')
})

test('no text can create an element or attribute other than the allowed ones', () => {
  const pieces = [
    '*',
    '**',
    '_',
    '~~',
    '`',
    '```\n',
    '\n',
    '\n\n',
    '> ',
    '- ',
    '1. ',
    '# ',
    '|a|\n|-|\n',
    '[x](',
    ')',
    '![',
    '- [x] ',
    ']',
    '<',
  ]
    .concat([
      '"',
      "'",
      '&lt;',
      '<script>',
      '<a href="',
      'onclick=',
      'https://a.example',
      'javascript:',
      '\u202e',
      '👩‍👩‍👧',
      'مر',
    ])
  const allowed =
    /<(?:\/?(?:p|ul|ol|li|em|strong|s|code|pre|blockquote|a|span|bdi|div|table|thead|tbody|tr|th|td)\b(?: (?:dir="(?:auto|ltr)"|class="(?:heading|host|table|box)"|role="(?:region|img)"|aria-label="(?:Table|done|to do)"|start="\d+"|tabindex="0"|href="https:\/\/a\.example[^"<>]*"|rel="noopener noreferrer nofollow"|target="_blank"))*|(?:br|hr)\/)>/g
  let seed = 7
  const next = (below: number) => (seed = (seed * 48271) % 2147483647) % below
  for (let run = 0; run < 500; run++) {
    const text = Array.from({ length: 40 }, () => pieces[next(pieces.length)]).join('')
    expect(html(text).replace(allowed, ''), text).not.toMatch(/[<>]/)
  }
})

test.each([
  ['emphasis in emphasis', '*a **b '.repeat(1_200)],
  ['closed emphasis', `${'*a'.repeat(2_000)}${'*'.repeat(2_000)}`],
  ['quotes', '>'.repeat(8_000) + 'x'],
  ['lists', Array.from({ length: 140 }, (_, i) => `${' '.repeat(i)}- x`).join('\n')],
  ['brackets', '['.repeat(8_000)],
  ['links in links', '[a]('.repeat(2_000)],
  ['backticks', Array.from({ length: 130 }, (_, i) => '`'.repeat(i)).join(' ')],
])('rendering a hostile text of %s ends with a limited depth', (_, text) => {
  const page = html(text)
  let depth = 0
  let deepest = 0
  for (const [, closing, , single] of page.matchAll(/<(\/)?(\w+)[^>]*?(\/)?>/g)) {
    if (single) continue
    depth += closing ? -1 : 1
    deepest = Math.max(deepest, depth)
  }
  expect(depth).toBe(0)
  expect(deepest).toBeLessThan(60)
})

test('a text too long to parse is shown unchanged', () => {
  expect(html('**x** '.repeat(4_000))).toMatch(/^<pre class="plain" dir="auto">\*\*x\*\*/)
})

test('the depth of nested emphasis is limited, and its text is shown', () => {
  const depth = 60
  const shown = html('*a '.repeat(depth) + 'x' + ' b*'.repeat(depth))

  expect(shown.match(/<em>/g)).toHaveLength(16)
  expect(shown.match(/<\/em>/g)).toHaveLength(16)
  expect(shown.replace(/<[^>]+>/g, '')).toBe('a '.repeat(depth) + 'x' + ' b'.repeat(depth))
})
