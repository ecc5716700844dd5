/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import MarkdownIt, { type StateCore, type Token } from 'markdown-it'
import { once } from '../lib/lazy.ts'
import { Name } from './bidi.tsx'

/**
 * A parser for CommonMark, tables, strikethrough and bare URLs. Its own HTML output is never used, so a gap in the
 * parser cannot create elements.
 */
const parser = once(() => {
  const parser = new MarkdownIt({ html: false, linkify: true, breaks: true, maxNesting: 12 })
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
  parser.core.ruler.push('task_lists', markTasks)
  return parser
})

/** Creates a token for the checkbox in list items that begin with `[ ]` or `[x]`, as in GitHub's Markdown. */
function markTasks({ tokens, Token }: StateCore): void {
  for (const [n, token] of tokens.entries()) {
    if (token.type !== 'inline' || tokens[n - 2]?.type !== 'list_item_open') continue
    const text = token.children?.[0]
    const box = text?.type === 'text' ? text.content.match(/^\[([ xX])\] /) : null
    if (!text || !box) continue
    text.content = text.content.slice(box[0].length)
    token.children!.unshift(Object.assign(new Token('task_box', '', 0), { info: box[1] }))
  }
}

/** Longer texts, in UTF-16 units, are shown unparsed. The parser needs up to 3 us per unit of a hostile text. */
const maxParsed = 20_000

/** Maximum nesting depth of elements. The parser does not limit the nesting of emphasis. */
const maxDepth = 16

/** Elements that only wrap their content. Headings become paragraphs, so that they do not affect the page's outline. */
const plainElements: Record<string, (content: Child[]) => Child> = {
  paragraph: (content) => <p dir='auto'>{content}</p>,
  heading: (content) => <p class='heading' dir='auto'>{content}</p>,
  blockquote: (content) => <blockquote dir='auto'>{content}</blockquote>,
  bullet_list: (content) => <ul dir='auto'>{content}</ul>,
  list_item: (content) => <li dir='auto'>{content}</li>,
  table: (content) => (
    // The table scrolls sideways. It must therefore be focusable, and needs a name.
    <div class='table' role='region' aria-label='Table' tabindex={0}>
      <table>{content}</table>
    </div>
  ),
  thead: (content) => <thead>{content}</thead>,
  tbody: (content) => <tbody>{content}</tbody>,
  tr: (content) => <tr>{content}</tr>,
  th: (content) => <th dir='auto'>{content}</th>,
  td: (content) => <td dir='auto'>{content}</td>,
  em: (content) => <em>{content}</em>,
  strong: (content) => <strong>{content}</strong>,
  s: (content) => <s>{content}</s>,
}

/**
 * Renders a text by an agent or a person, using only the grid's own elements. HTML in it is shown as text. A link names
 * its host and reveals nothing about this page. Images are not loaded, because their host would learn about the reader.
 */
export function Markdown({ text }: { text: string }) {
  if (text.length > maxParsed) return <pre class='plain' dir='auto'>{text}</pre>
  return <>{elements(parser().parse(text, {}))}</>
}

/** Renders a list of tokens. For elements nested too deeply, only their content is rendered. */
function elements(tokens: Token[]): Child[] {
  const open: { token?: Token; content: Child[] }[] = [{ content: [] }]
  let tooDeep = 0
  for (const token of tokens) {
    const { content } = open[open.length - 1]
    if (token.nesting === 0) content.push(leaf(token))
    else if (token.nesting === 1) {
      if (open.length > maxDepth) tooDeep++
      else open.push({ token, content: [] })
    } else if (tooDeep > 0) tooDeep--
    else {
      const closed = open.pop()!
      open[open.length - 1].content.push(branch(closed.token!, closed.content))
    }
  }
  return open[0].content
}

function branch(token: Token, content: Child[]): Child {
  const kind = token.type.replace(/_open$/, '')
  // Paragraphs in a tight list have no margins.
  if (kind === 'paragraph' && token.hidden) return <>{content}</>
  if (kind === 'link') return <Link href={attribute(token, 'href')} isShown={token.info === 'auto'}>{content}</Link>
  if (kind === 'ordered_list') return <ol dir='auto' start={Number(token.attrGet('start') ?? 1)}>{content}</ol>
  return plainElements[kind]?.(content) ?? <>{content}</>
}

function leaf(token: Token): Child {
  switch (token.type) {
    case 'inline':
      return <>{elements(token.children ?? [])}</>
    case 'code_inline':
      return <code>{token.content}</code>
    case 'fence':
    case 'code_block':
      return <pre dir='ltr' tabindex={0}><code>{token.content}</code></pre>
    case 'softbreak':
    case 'hardbreak':
      return <br />
    case 'task_box':
      return <Box isDone={token.info !== ' '} />
    case 'hr':
      return <hr />
    case 'image':
      return <Image src={attribute(token, 'src')} text={token.content} />
    default:
      return token.content
  }
}

const attribute = (token: Token, name: string): string => String(token.attrGet(name) ?? '')

/**
 * A link to a page outside the grid. Only web and email addresses are allowed, because other schemes may start
 * programs. With `isShown`, the text is the address itself. Such a link can mislead only by look-alike letters.
 */
function Link({ href, isShown, children }: { href: string; isShown: boolean; children: Child[] }) {
  const target = hostOf(href)
  if (target === undefined) return <>{children}</>
  const link = <a href={href} rel='noopener noreferrer nofollow' target='_blank'>{children}</a>
  if (isShown && !target.includes('xn--')) return link
  return (
    <>
      {link}
      {` `}
      <span class='host'>
        (<Name text={target} />)
      </span>
    </>
  )
}

/** A checkbox in a message. It is read-only, because a message's content cannot be changed. */
function Box({ isDone }: { isDone: boolean }) {
  return <span class='box' role='img' aria-label={isDone ? 'done' : 'to do'}>{isDone ? '☑' : '☐'}</span>
}

function Image({ src, text }: { src: string; text: string }) {
  return (
    <span class='host'>
      [image{text === '' ? '' : (
        <>
          : <Name text={text} />
        </>
      )}, not loaded: <Name text={hostOf(src) ?? 'no address'} />]
    </span>
  )
}

/** Returns a web address's host in ASCII form, or an email address. Undefined for other addresses. */
function hostOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, host, pathname } = new URL(address)
  if (protocol === 'mailto:') return pathname
  return protocol === 'https:' || protocol === 'http:' ? host : undefined
}
