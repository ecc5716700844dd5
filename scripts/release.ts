/**
 * Builds all released files: `npm run release [-- --target NAME,…] [--repository URL] [--destination FOLDER] [--image]`
 * writes the binaries, the npm package, the install script, the image (only with `--image`), their README, release
 * notes, licences, a component list (CycloneDX) and checksums into `release/`.
 *
 * See docs/releasing.md.
 */
import { execFileSync } from 'node:child_process'
import { Buffer } from 'node:buffer'
import { createHash, randomUUID } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { migrations } from '../db/migrations.ts'
import { released } from '../db/released.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: {
    target: { type: 'string', default: 'all' },
    /** A repository URL with releases below it, as on GitHub. */
    repository: { type: 'string' },
    image: { type: 'boolean', default: false },
    destination: { type: 'string', default: join(root, 'release') },
  },
})
const destination = resolve(values.destination)
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const changes = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
const section = changes.split(/\n(?=## )/).find((part) => part.startsWith(`## ${version} (`))
if (!section) throw new Error(`CHANGELOG.md has no section for ${version}.`)
const unfrozen = migrations.find((step) => released[step.name] !== step.hash)
if (unfrozen) {
  const command = `npm run lab -- released-schema ${version} --freeze`
  throw new Error(`db/released.ts does not have the step ${unfrozen.name} of the schema: run "${command}".`)
}

run('--import', 'tsx', 'scripts/released.ts', ['--check'])
rmSync(destination, { recursive: true, force: true })
mkdirSync(destination, { recursive: true })
// "-dirty" marks uncommitted changes.
const commit = output('git', 'describe', '--always', '--dirty', '--exclude=*', '--abbrev=12').trim()

run('scripts/other-runtime.js', 'bun', 'scripts/binary.ts', [
  ...['--target', values.target, '--outfile', join(destination, 'agent-grid'), '--commit', commit],
])
run('--import', 'tsx', 'scripts/package.ts', [
  ...['--destination', destination, '--commit', commit],
  ...(values.repository ? ['--repository', values.repository] : []),
])
if (values.image) {
  execFileSync('sh', ['scripts/image.sh', destination, version], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
}
const install = readFileSync(join(root, 'scripts/install.sh'), 'utf8')
const releaseUrl = values.repository && `${values.repository}/releases/download/v${version}`
writeFileSync(join(destination, 'install.sh'), releaseUrl ? install.replace('@RELEASE_URL@', releaseUrl) : install)
writeFileSync(join(destination, 'release-notes.md'), releaseNotes(section))
copyFileSync(join(root, 'PACKAGE.md'), join(destination, 'README.md'))
copyFileSync(join(root, 'dist/package/src/main.third-party.txt'), join(destination, 'third-party.txt'))
writeFileSync(join(destination, `agent-grid-${version}.cdx.json`), JSON.stringify(components(), null, 2))
const files = readdirSync(destination).sort()
writeFileSync(join(destination, 'SHA256SUMS'), files.map((file) => `${sha256(file)}  ${file}\n`).join(''))
console.log(readFileSync(join(destination, 'SHA256SUMS'), 'utf8'))

/** Returns a changelog section without its heading. Links into the package's documents become plain text. */
function releaseNotes(section: string): string {
  const changes = section.slice(section.indexOf('\n') + 1).trim().replace(/\[([^\]]+)\]\((?!https?:)[^)]*\)/g, '$1')
  return `${changes}\n\nTried: the binary for Linux x64 with glibc, and the package. The binary for Windows is experimental. The others ` +
    `were built and not run. Compare each file with \`SHA256SUMS\`.\n`
}

/**
 * The components of the package and the binaries: the program's packages, packages with native parts and their
 * dependencies, and Bun. `npm sbom` would omit packages that development packages need too.
 *
 * @see CycloneDX 1.5, JSON
 */
function components(): Record<string, unknown> {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const bundled = readFileSync(join(root, 'dist/package/src/main.third-party.txt'), 'utf8')
    .split(`\n\n${'-'.repeat(80)}\n`).slice(1).map((entry) => entry.split(' ')[0])
  const { dependencies } = JSON.parse(readFileSync(join(root, 'dist/package/package.json'), 'utf8'))
  const names = new Set([...bundled, 'bun'])
  const withNeeds = (name: string) => {
    const { dependencies = {}, optionalDependencies = {} } = packages[`node_modules/${name}`] ?? {}
    if (names.has(name)) return
    names.add(name)
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) withNeeds(needed)
  }
  for (const name of Object.keys(dependencies)) withNeeds(name)
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: {
      timestamp: new Date().toISOString(),
      component: { type: 'application', name, version, purl: purl(name, version), licenses: licenses('MIT') },
    },
    components: [...names].sort().flatMap((name) => {
      const entry = packages[`node_modules/${name}`]
      return entry ? [component(name, entry)] : []
    }),
  }
}

/** A package as described in the lock file. */
function component(name: string, { version, license, integrity }: Record<string, string>): Record<string, unknown> {
  const content = Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
  return {
    type: name === 'bun' ? 'platform' : 'library',
    name,
    version,
    purl: purl(name, version),
    hashes: [{ alg: 'SHA-512', content }],
    ...(license && { licenses: licenses(license) }),
  }
}

function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** Describes a licence. `license` is an SPDX expression. */
function licenses(license: string): Record<string, unknown>[] {
  return /^[\w.-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }]
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(join(destination, file))).digest('hex')
}

function output(program: string, ...words: string[]): string {
  return execFileSync(program, words, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
}

/** Runs one of the programs in this folder and shows its output. The last argument is the list of options. */
function run(...words: [...string[], string[]]): void {
  execFileSync(process.execPath, words.flat(), { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
}
