/** How a JSON file is laid out: where a further value belongs, and how it is written there. */
import { createScanner, type Node, parseTree } from 'jsonc-parser'
import { FileRefusedError, type Json } from './written-file.ts'

/** The kinds of tokens that matter here, as `SyntaxKind` of jsonc-parser numbers them. */
const kinds = { comma: 5, lineComment: 12, blockComment: 13, lineBreak: 14, space: 15, endOfFile: 17 }

/** The layout of a whole file. */
export interface Layout {
  eol: string
  /** One level of indentation; undefined if the file is on one line. */
  unit: string | undefined
}

/** Parse a file with comments and trailing commas. Fails with `FileRefusedError`, which names the line. */
export function parseFile(path: string, text: string): Node {
  const errors: { offset: number }[] = []
  const root = parseTree(withoutMark(text), errors as never, { allowTrailingComma: true })
  if (errors.length > 0 || root === undefined) {
    const before = text.slice(0, errors[0]?.offset ?? 0).split('\n')
    throw new FileRefusedError(
      path,
      `is no valid JSON at line ${before.length}, column ${
        before.at(-1)!.length + 1
      }. Nothing was changed; mend it first.`,
    )
  }
  return root
}

/** A text with a space for the byte order mark, which is no JSON. */
export function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, ' ')
}

/** The layout that a file has. */
export function layoutOf(text: string, root: Node): Layout {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const isOnOneLine = (root.children ?? []).length > 0 && !spanOf(text, root).includes('\n')
  if (isOnOneLine) return { eol, unit: undefined }
  const first = root.children?.find((child) => /^[ \t]+$/.test(lineStart(text, child.offset)))
  return { eol, unit: first ? lineStart(text, first.offset) : '  ' }
}

/** Whether the values of a container stand on lines of their own. An empty one is opened if the file has lines. */
export function isOpen(text: string, container: Node, { unit }: Layout): boolean {
  if (unit === undefined) return false
  return (container.children ?? []).length === 0 || spanOf(text, container).includes('\n')
}

/** The indentation of the values of a container. */
export function childIndent(text: string, container: Node, unit: string): string {
  const last = container.children?.at(-1)
  const ofLast = last && lineStart(text, last.offset)
  if (ofLast !== undefined && /^[ \t]*$/.test(ofLast)) return ofLast
  return ownIndent(text, container) + unit
}

/** The indentation of the line in which a node begins. */
export function ownIndent(text: string, node: Node): string {
  return lineStart(text, node.offset).match(/^[ \t]*/)![0]
}

/** A value as it is written at an indentation, or on one line without one. */
export function printed(value: Json, { eol, unit }: Layout, indent: string): string {
  if (unit === undefined) return JSON.stringify(value)
  return JSON.stringify(value, null, unit).replaceAll('\n', eol + indent)
}

/** The end of the comments that stand behind an offset in its line. */
export function endOfLine(text: string, from: number, container: Node): number {
  let end = from
  for (const { kind, start, stop } of trivia(text, from, container)) {
    if (kind === kinds.lineBreak || text.slice(start, stop).includes('\n')) break
    if (kind !== kinds.space) end = stop
  }
  return end
}

/** The offset of the first comma behind a value of a container; undefined if there is none. */
export function commaAfter(text: string, value: Node, container: Node): number | undefined {
  for (const { kind, start } of trivia(text, value.offset + value.length, container)) {
    if (kind === kinds.comma) return start
  }
  return undefined
}

/** The end of the last comment in an empty container, or its beginning. */
export function endOfComments(text: string, container: Node): number {
  const start = container.offset + 1
  const comments = [...trivia(text, start, container)].filter(({ kind }) =>
    kind === kinds.lineComment || kind === kinds.blockComment
  )
  return comments.at(-1)?.stop ?? start
}

/** The end of a container without its bracket. */
export function closing(container: Node): number {
  return container.offset + container.length - 1
}

/** What stands between an offset in a container and its end. */
function* trivia(text: string, from: number, container: Node) {
  const scanner = createScanner(text, false)
  scanner.setPosition(from)
  for (let kind: number = scanner.scan(); kind !== kinds.endOfFile; kind = scanner.scan()) {
    const start = scanner.getTokenOffset()
    if (start >= closing(container)) return
    yield { kind, start, stop: start + scanner.getTokenLength() }
  }
}

function spanOf(text: string, { offset, length }: Node): string {
  return text.slice(offset, offset + length)
}

/** What stands before an offset in its line. */
function lineStart(text: string, offset: number): string {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
}
