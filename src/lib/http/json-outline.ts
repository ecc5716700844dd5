/** Valid JSON that is too deep or too wide to be parsed, without making its values. */

type Expected = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'comma' | 'nothing'

const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const blank = /[ \t\n\r]*/y

/**
 * The members of a JSON object whose values are neither objects nor lists; an empty list for any other JSON. Undefined if
 * the text is not JSON. It takes memory for the depth of the text, not for its values. @see RFC 8259
 */
export function jsonOutline(text: string): Record<string, unknown> | [] | undefined {
  const members: [string, unknown][] = []
  /** Of each open value whether it is an object. */
  const open: boolean[] = []
  let expected: Expected = 'value'
  let name = ''
  let isObject = false
  let at = 0

  const after = (): Expected => open.length > 0 ? 'comma' : 'nothing'
  const takeScalar = (json: string) => {
    if (open.length === 1 && isObject) members.push([name, JSON.parse(json)])
  }

  for (;;) {
    blank.lastIndex = at
    blank.test(text)
    at = blank.lastIndex
    if (at >= text.length) break
    const char = text[at]
    const isName = expected === 'name' || expected === 'first name'
    if (char === '"') {
      const end = endOfString(text, at)
      if (end === undefined || !(isName || expected === 'value' || expected === 'first value')) return undefined
      const json = text.slice(at, end)
      at = end
      if (isName) {
        if (open.length === 1 && isObject) name = JSON.parse(json)
        expected = 'colon'
      } else {
        takeScalar(json)
        expected = after()
      }
    } else if (char === '{' || char === '[') {
      if (expected !== 'value' && expected !== 'first value') return undefined
      if (open.length === 0) isObject = char === '{'
      open.push(char === '{')
      expected = char === '{' ? 'first name' : 'first value'
      at++
    } else if (char === '}' || char === ']') {
      if (expected !== 'comma' && expected !== (char === '}' ? 'first name' : 'first value')) return undefined
      if (open.pop() !== (char === '}')) return undefined
      expected = after()
      at++
    } else if (char === ',') {
      if (expected !== 'comma') return undefined
      expected = open[open.length - 1] ? 'name' : 'value'
      at++
    } else if (char === ':') {
      if (expected !== 'colon') return undefined
      expected = 'value'
      at++
    } else {
      if (expected !== 'value' && expected !== 'first value') return undefined
      scalar.lastIndex = at
      if (!scalar.test(text)) return undefined
      takeScalar(text.slice(at, scalar.lastIndex))
      at = scalar.lastIndex
      expected = after()
    }
  }
  if (expected !== 'nothing') return undefined
  return isObject ? Object.fromEntries(members) : []
}

/** Behind the closing quote; undefined if the string that begins here is not valid. */
function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === 0x22) return at + 1
    if (char < 0x20) return undefined
    if (char !== 0x5c) continue
    const escape = text.slice(at + 1, at + 6)
    if (/^["\\/bfnrt]/.test(escape)) at++
    else if (/^u[0-9a-fA-F]{4}/.test(escape)) at += 5
    else return undefined
  }
  return undefined
}
