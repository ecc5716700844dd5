/** How a built program starts: with V8's code cache, and with stack traces that name the sources. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'

let folder: string
let dist: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-launch-'))
  dist = join(folder, 'dist/src')
  mkdirSync(join(folder, 'src'))
  for (const path of ['package.json', 'scripts/build.js', 'scripts/launch.js']) cpSync(path, join(folder, path))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
})
afterEach(() => {
  chmodSync(dist, 0o700)
  rmSync(folder, { recursive: true, force: true })
})

/** Prints V8's report on the cache: true if it was refused, undefined if there was none. */
const reports = `import vm from 'node:vm'
vm.Script = class extends vm.Script {
  constructor(...args) {
    super(...args)
    console.log('rejected', this.cachedDataRejected)
  }
}
`

test('the second start of a built program uses the code cache of the first', () => {
  build("console.log('hello')\n")
  const first = start(['--import', reporter()], { CODE_CACHE: 'write' })
  const second = start(['--import', reporter()])

  expect([first.stdout, second.stdout]).toEqual(['rejected undefined\nhello\n', 'rejected false\nhello\n'])
  expect(readdirSync(dist).filter((name) => name.includes('.cache'))).toEqual([cacheName()])
})

test.each([
  ['of other flags', ['--no-opt'], () => {}],
  ['that was cut off', [], () => writeFileSync(join(dist, cacheName()), 'cut off')],
  [
    'of another program',
    [],
    () =>
      writeFileSync(
        join(dist, cacheName()),
        readFileSync(join(dist, cacheName())).map((byte, i) => i === 8 ? byte ^ 1 : byte),
      ),
  ],
])('a code cache %s is silently ignored and written again', (_, flags, spoil) => {
  build("console.log('hello')\n")
  start([], { CODE_CACHE: 'write' })
  spoil()
  const runs = [
    start([...flags, '--import', reporter()], { CODE_CACHE: 'write' }),
    start([...flags, '--import', reporter()]),
  ]

  expect(runs.map(({ stdout, stderr }) => stdout + stderr)).toEqual([
    'rejected true\nhello\n',
    'rejected false\nhello\n',
  ])
})

test('stack traces of a built program name the source files and lines', () => {
  writeFileSync(
    join(folder, 'src/fail.ts'),
    `import { z } from 'zod'\n\nexport interface Unused {\n  a: string\n}\n\n` +
      `export function fail(what: string): never {\n  throw new TypeError(what + z.string().parse(''))\n}\n`,
  )
  build(
    "import { fail } from './fail.ts'\n\ntry {\n  fail('caught')\n} catch (error) {\n" +
      "  console.log((error as Error).stack)\n}\nvoid (async () => {\n  await 0\n  fail('uncaught')\n})()\n",
  )
  const { status, stdout, stderr } = start([])

  const at = (where: string) => `    at ${where}`
  const caught = ['TypeError: caught', at(`fail (${folder}/src/fail.ts:8:9)`), at(`${folder}/src/main.ts:4:3`)]
  expect(stdout.split('\n').slice(0, 3)).toEqual(caught)
  expect(stderr).toContain(
    ['TypeError: uncaught', at(`fail (${folder}/src/fail.ts:8:9)`), at(`${folder}/src/main.ts:10:3`)].join('\n'),
  )
  expect(status).toBe(1)
})

test('a copied installation names its own files in stack traces', () => {
  build("console.log(new Error('here').stack)\n")
  start([], { CODE_CACHE: 'write' })
  const copy = join(folder, 'copy')
  cpSync(join(folder, 'dist'), join(copy, 'dist'), { recursive: true })

  const { stdout } = spawnSync(process.execPath, [join(copy, 'dist/src/main.js')], { encoding: 'utf8' })

  expect(stdout.split('\n').slice(0, 2)).toEqual(['Error: here', `    at ${copy}/src/main.ts:1:13`])
})

function build(text: string): void {
  writeFileSync(join(folder, 'src/main.ts'), text)
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'scripts/build.js'), 'src/main.ts'])
  expect(status, stderr.toString()).toBe(0)
}

function reporter(): string {
  writeFileSync(join(folder, 'report.mjs'), reports)
  return join(folder, 'report.mjs')
}

function cacheName(): string {
  const program = readdirSync(dist).find((name) => name.endsWith('.cjs'))
  const place = createHash('sha256').update(join(dist, program!)).digest('hex').slice(0, 8)
  return `${program}.${process.version}-${process.arch}-${place}.cache`
}

function start(flags: string[], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, [...flags, join(dist, 'main.js')], {
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  })
}
