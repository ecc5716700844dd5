import { hash } from 'node:crypto'

/**
 * SHA-256 of content, in hexadecimal. Native, because content may be long: a megabyte takes 1 ms, and 10 ms or
 * more with `hashForLookup`, which is for keys and tokens.
 */
export function digestOf(content: string): string {
  return hash('sha256', content, 'hex')
}
