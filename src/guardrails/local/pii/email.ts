/** Email addresses. */
import type { Span } from '../../provider.ts'
import { hasAny, kinds } from '../traits.ts'
import { type Detector, matching } from './detector.ts'

const local = /[\p{L}\p{N}\p{M}._%+'-]/u
const domain = /[\p{L}\p{N}\p{M}.-]/u
/** Names of files, such as `icon@2x.png`. */
const file =
  /\.(?:png|jpe?g|gif|svg|webp|avif|ico|css|js|mjs|cjs|ts|tsx|jsx|json|map|tgz|gz|zip|tar|md|html?|lock|ya?ml)$/i
const host =
  /^(?!-)[\p{L}\p{N}\p{M}-]{1,63}(?<!-)(?:\.(?!-)[\p{L}\p{N}\p{M}-]{1,63}(?<!-)){0,8}\.(?:\p{L}[\p{L}\p{M}]{1,62}|xn--[a-z0-9-]{2,59})$/u

/** `alice [at] example [dot] com` */
const spelled =
  /(?<![\p{L}\p{N}])[\p{L}\p{N}._%+-]{1,64} ?(?:\(at\)|\[at\]|\{at\}) ?[\p{L}\p{N}-]{1,63}(?: ?(?:\(dot\)|\[dot\]|\{dot\}|\.) ?[\p{L}\p{N}-]{2,63}){1,4}/giu

export const email: Detector = {
  id: 'email',
  kind: 'email address',
  find(text) {
    if (!hasAny(text, kinds.at | kinds.bracket)) return []
    const spans: Span[] = []
    for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
      const span = addressAround(text, at)
      if (span) spans.push(span)
    }
    // The expression reads backwards from each word, so only where it can end.
    return /[([{]at[)\]}]/i.test(text) ? [...spans, ...matching(text, spelled)] : spans
  },
}

function addressAround(text: string, at: number): Span | undefined {
  let start = at
  while (start > 0 && at - start < 64 && local.test(charBefore(text, start))) start -= charBefore(text, start).length
  while (start < at && /[.'%-]/.test(text[start])) start++
  let end = at + 1
  while (end < text.length && end - at < 254 && domain.test(charAt(text, end))) end += charAt(text, end).length
  while (end > at + 1 && /[.-]/.test(text[end - 1])) end--
  const name = text.slice(at + 1, end)
  const account = text.slice(start, at)
  if (account === '' || account.endsWith('.') || !host.test(name) || file.test(name)) return undefined
  // The address of a repository over SSH, such as git@github.com:owner/name.
  if (account === 'git' || (text[end] === ':' && /^:[\w~/.-]*\//.test(text.slice(end, end + 100)))) return undefined
  return { start, end }
}

function charAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at)!)
}

function charBefore(text: string, at: number): string {
  return /[\udc00-\udfff]/.test(text[at - 1]) && at > 1 ? text.slice(at - 2, at) : text[at - 1]
}
