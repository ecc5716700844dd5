/**
 * `npm run lab -- released [VERSION] [--check]` writes this version's interface into `test/fixtures/released/VERSION/`.
 * Later versions are compared with it. With `--check` it fails if the files are out of date. A version with a git tag
 * is never changed. See docs/stability.md.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { version as current } from '../src/lib/version.ts'
import { currentInterface, interfaceText } from '../test/support/interface.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const version = process.argv.slice(2).find((word) => !word.startsWith('--')) ?? current
const folder = `${root}test/fixtures/released/${version}`
const file = `${folder}/interface.json`
const isCheck = process.argv.includes('--check')

if (!isCheck && execFileSync('git', ['tag', '--list', `v${version}`], { cwd: root, encoding: 'utf8' })) {
  throw new Error(`${version} is released. Give the next version its number first.`)
}
const text = interfaceText(await currentInterface())
if (isCheck) {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    throw new Error(`${file} is out of date: run "npm run lab -- released" and commit it.`)
  }
} else {
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, text)
  console.log(`${file}: ${text.length} bytes`)
}
process.exit()
