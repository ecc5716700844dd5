/** A verb that can fail with `write_conflict` says so, because its callers read only its comment. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  .map((name) => join('src', name))
const verb = /(\/\*\*(?:(?!\*\/)[^])*\*\/)\nexport (?:async )?function (\w+)[^]*?\n}\n/g

test('every exported function that retries on a conflict names the error in its comment', () => {
  const silent: string[] = []
  let found = 0
  for (const file of files) {
    for (const [whole, comment, name] of readFileSync(file, 'utf8').matchAll(verb)) {
      if (!whole.includes('retryOnConflict(') || name === 'retryOnConflict') continue
      found++
      if (!comment.includes('`write_conflict`')) silent.push(`${file} ${name}`)
    }
  }
  expect(found).toBeGreaterThan(25)
  expect(silent).toEqual([])
})
