/** Email addresses. */
import type { Span } from '../../provider.ts'
import { type Detector, matching } from './detector.ts'

/** What may be an account and a host. It begins with `@`, so that few places are looked at. */
const around = /@(?<=(?<account>[\p{L}\p{N}\p{M}._%+'-]{1,64})@)(?<name>[\p{L}\p{N}\p{M}.-]{1,253})/gu
const host =
  /^(?!-)[\p{L}\p{N}\p{M}-]{1,63}(?<!-)(?:\.(?!-)[\p{L}\p{N}\p{M}-]{1,63}(?<!-)){0,8}\.(?:\p{L}[\p{L}\p{M}]{1,62}|xn--[a-z0-9-]{2,59})$/u
/** Names of files, such as `icon@2x.png`. */
const file =
  /\.(?:png|jpe?g|gif|svg|webp|avif|ico|css|js|mjs|cjs|ts|tsx|jsx|json|map|tgz|gz|zip|tar|md|html?|lock|ya?ml)$/i

/** `alice [at] example [dot] com` */
const spelled =
  /(?<![\p{L}\p{N}])[\p{L}\p{N}._%+-]{1,64} ?(?:\(at\)|\[at\]|\{at\}) ?[\p{L}\p{N}-]{1,63}(?: ?(?:\(dot\)|\[dot\]|\{dot\}|\.) ?[\p{L}\p{N}-]{2,63}){1,4}/giu

export const email: Detector = {
  id: 'email',
  kind: 'email address',
  find: (text) => [
    ...[...text.matchAll(around)].flatMap(({ index, groups }) => addressAt(text, index, groups!.account, groups!.name)),
    // The expression reads backwards from each word, so only where it can end.
    ...(/[([{]at[)\]}]/i.test(text) ? matching(text, spelled) : []),
  ],
}

function addressAt(text: string, at: number, before: string, after: string): Span[] {
  const account = before.replace(/^[.'%-]+/, '')
  const name = after.replace(/[.-]+$/, '')
  const end = at + 1 + name.length
  if (account === '' || account.endsWith('.') || !host.test(name) || file.test(name)) return []
  // The address of a repository over SSH, such as git@github.com:owner/name.
  if (account === 'git' || /^:[\w~/.-]*\//.test(text.slice(end, end + 100))) return []
  return [{ start: at - account.length, end }]
}
