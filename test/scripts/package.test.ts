/** The content of a release, and the npm package as an operator installs it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clientCommands } from '../../src/cli/client-commands.ts'
import { ownTarget } from '../../scripts/binary/targets.ts'
import { manual, readPage } from '../../src/cli/manual.ts'
import { clientWords } from '../../src/cli/client-words.ts'

/** The package name on npm. */
const { name }: { name: string } = JSON.parse(readFileSync('package.json', 'utf8'))

let folder: string
let release: string
let installed: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-package-'))
  release = join(folder, 'release')
  const words = ['--destination', release, '--target', ownTarget(), '--repository', 'https://git.example/grid']
  const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'scripts/release.ts', ...words])
  if (status !== 0) throw new Error(String(stderr))
  const archive = join('release', readdirSync(release).find((name) => name.endsWith('.tgz'))!)
  execFileSync('tar', ['-xzf', join(folder, archive), '-C', folder])
  installed = join(folder, 'node_modules', name)
  mkdirSync(dirname(installed), { recursive: true })
  cpSync(join(folder, 'package'), installed, { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs the installed program in the empty folder. */
function agentGrid(...words: string[]) {
  const env = { PATH: process.env.PATH }
  const { status, stdout, stderr } = spawnSync(process.execPath, [
    join(installed, manifest().bin['agent-grid']),
    ...words,
  ], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

const manifest = () => JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))

test('a release contains the binary, the package, a README, licences, a component list, and their checksums', () => {
  const sums = Object.fromEntries(
    readFileSync(join(release, 'SHA256SUMS'), 'utf8').trim().split('\n').map((line) => line.split('  ').reverse()),
  )
  const { version } = manifest()
  const files = [
    `agent-grid-${ownTarget()}`,
    `agent-grid-${version}.cdx.json`,
    `${name.slice(1).replace('/', '-')}-${version}.tgz`,
  ]
  const { bomFormat, metadata, components } = JSON.parse(readFileSync(join(release, files[1]), 'utf8'))
  const names = components.map(({ name }: { name: string }) => name)

  expect(Object.keys(sums).sort()).toEqual(
    [...files, 'README.md', 'install.sh', 'release-notes.md', 'third-party.txt'].sort(),
  )
  expect(readFileSync(join(release, 'release-notes.md'), 'utf8')).toMatch(/^(?!#)[^]+SHA256SUMS/)
  for (const [name, sum] of Object.entries(sums)) {
    expect(createHash('sha256').update(readFileSync(join(release, name))).digest('hex')).toBe(sum)
  }
  expect([bomFormat, metadata.component.name]).toEqual(['CycloneDX', name])
  expect(metadata.component.purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`)
  expect(names).toEqual(expect.arrayContaining(['@libsql/linux-x64-gnu', 'bun', 'hono', 'libsql', 'nodemailer', 'zod']))
  for (const { hashes: [{ content }] } of components) expect(content).toMatch(/^[0-9a-f]{128}$/)
  for (const name of ['esbuild', 'vitest', 'typescript']) expect(names).not.toContain(name)
})

test('the package depends only on packages with native parts, and names its repository', () => {
  const { dependencies, version, private: isPrivate, scripts, repository, publishConfig } = manifest()

  expect(Object.keys(dependencies).sort()).toEqual(['@node-rs/argon2', 'libsql'])
  for (const exact of Object.values(dependencies)) expect(exact).toMatch(/^\d+\.\d+\.\d+$/)
  expect([isPrivate, scripts]).toEqual([undefined, undefined])
  expect(version).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version)
  expect(repository).toEqual({ type: 'git', url: 'https://git.example/grid' })
  expect(publishConfig).toEqual({ access: 'public', provenance: true })
})

test('the package takes at most 7.5 MB including licences, and contains no source maps or caches', () => {
  const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  const bytes = files.reduce((sum, { parentPath, name }) => sum + readFileSync(join(parentPath, name)).length, 0)

  expect(bytes).toBeLessThan(7_500_000)
  expect(files.map(({ name }) => name).filter((name) => /\.(map|cache|ts)$/.test(name))).toEqual([])
  for (const name of ['LICENSE', 'src/main.third-party.txt', 'src/agent-grid.tgz', 'src/thread.js']) {
    expect(existsSync(join(installed, name)), name).toBe(true)
  }
})

test('the package has its own README with working links, and every page of the manual', () => {
  const readme = readFileSync(join(installed, 'README.md'), 'utf8')

  expect(readme).toBe(readFileSync('PACKAGE.md', 'utf8'))
  for (const [, file] of readme.matchAll(/\]\(([^)]+)\)/g)) expect(existsSync(join(installed, file)), file).toBe(true)
  for (const file of Object.values(manual)) expect(existsSync(join(installed, file)), file).toBe(true)
})

test('client commands of the package start without the database driver', () => {
  const version = agentGrid('--version')
  const health = agentGrid('health', '--url', 'http://127.0.0.1:1')
  const demo = agentGrid('demo')

  expect(clientWords.filter((word) => !/^(--?v|version)/.test(word))).toEqual(clientCommands.map(({ name }) => name))
  expect(version.stdout).toMatch(/^agent-grid \d+\.\d+\.\d+ \([0-9a-f]{12}(-dirty)?\) \([0-9a-f]{12}\)\n$/)
  expect(health).toMatchObject({ status: 1, stderr: 'No server answers at http://127.0.0.1:1.\n' })
  // The package libsql is not installed here.
  expect(demo.stderr).toContain("Cannot find module 'libsql'")
})

test('the package runs a grid with its dependencies, and never prints a command that fetches it from npm', () => {
  for (const name of ['libsql', '@libsql', '@neon-rs', '@node-rs', 'detect-libc']) {
    symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name))
  }

  const demo = agentGrid('demo')
  const account = agentGrid('create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example', '--new')

  expect(demo).toMatchObject({ status: 0, stderr: '' })
  expect(demo.stdout).toContain(`All 3 messages arrived. To run your own grid: npx --no -- ${name} serve\n`)
  expect(agentGrid('help', 'install').stdout).toBe(`${readPage('install')}\n`)
  expect(account.stdout).toContain(`\nNext: npx --no -- ${name} create-agent --account `)
  expect(existsSync(join(folder, 'data/grid.db'))).toBe(true)
})
