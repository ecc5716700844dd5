/** Shows a person which lines of a file will change before it is written. */
import { homedir } from 'node:os'
import { sep } from 'node:path'
import { printable } from '../../lib/redact.ts'
import { type FileChange, isChange } from './change.ts'

/** Maximum number of lines shown for a file that only this program writes. */
const shownLines = 12
/** Of a line that is longer than this, only the changed part is shown, with `around` characters on each side. */
const wholeLine = 160
const around = 20

export function differenceOf(changes: readonly FileChange[], secrets: readonly string[]): string {
  // Control characters are removed, because a project's files may have been written by someone else.
  const text = printable(changes.map(fileDifference).join('\n\n'))
  return secrets.filter(Boolean).reduce((shown, secret) => shown.replaceAll(secret, masked(secret)), text)
}

function fileDifference(change: FileChange): string {
  const { path, current, next, mode, oldMode, written = change.removed } = change
  if (!isChange(change)) return `${shortPath(path)} stays as it is`
  const what = next === undefined ? 'is removed' : current === undefined ? 'is new' : 'is changed'
  const narrowed = oldMode !== undefined && mode !== undefined
    ? `; only you can read it from now on, because it has a key (${octal(oldMode)} becomes ${octal(mode)})`
    : ''
  const lines = changedLines(linesOf(current), linesOf(next))
  const isFolded = written?.format === 'own' && lines.length > shownLines
  const shown = isFolded ? [...lines.slice(0, shownLines), `… ${lines.length - shownLines} more lines`] : lines
  return [`${shortPath(path)} ${what}${narrowed}`, ...shown.map((line) => `  ${line}`)].join('\n')
}

function linesOf(text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
}

/** The removed and added lines, in file order, with `…` for unchanged lines between them. */
function changedLines(before: readonly string[], after: readonly string[]): string[] {
  const [start, same] = commonEnds(before, after)
  const [old, fresh] = [before.slice(start, before.length - same), after.slice(start, after.length - same)]
  // Dynamic programming: `common[i][j]` is the length of the longest common subsequence of `old` from line `i` and
  // `fresh` from line `j`.
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1))
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      common[i][j] = old[i] === fresh[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1])
    }
  }
  const lines: string[] = []
  let [i, j, taken, put] = [0, 0, [] as string[], [] as string[]]
  const flush = () => {
    lines.push(
      ...taken.map((line, n) => `- ${shortened(line, put[n])}`),
      ...put.map((line, n) => `+ ${shortened(line, taken[n])}`),
    )
    taken = []
    put = []
  }
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      flush()
      if (lines.length > 0 && lines.at(-1) !== '…') lines.push('…')
      i++
      j++
    } else if (j === fresh.length || i < old.length && common[i + 1][j] >= common[i][j + 1]) taken.push(old[i++])
    else put.push(fresh[j++])
  }
  flush()
  return lines
}

/** The part of a long line that differs from its replacement. */
function shortened(line: string, other: string | undefined): string {
  if (other === undefined || line.length <= wholeLine) return line
  const [start, same] = commonEnds(line, other)
  return `…${line.slice(Math.max(0, start - around), line.length - Math.max(0, same - around))}…`
}

/** The lengths of the common prefix and the common suffix of two texts or two lists of lines. */
function commonEnds(a: ArrayLike<string>, b: ArrayLike<string>): [start: number, end: number] {
  const length = Math.min(a.length, b.length)
  let start = 0
  while (start < length && a[start] === b[start]) start++
  let end = 0
  while (end < length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  return [start, end]
}

function shortPath(path: string): string {
  const home = homedir()
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path
}

function masked(secret: string): string {
  return `${secret.match(/^[a-z]+_[a-z]+_/)?.[0] ?? ''}…${secret.slice(-4)}`
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}
