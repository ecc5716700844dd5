/**
 * Builds the npm package: `npm run lab -- package [--commit HASH] [--repository URL]` writes it to `release/`, under
 * npm's usual file name. The built program contains all packages, except packages with native parts, which are the only
 * dependencies.
 *
 * See docs/operating/install.md, "npm package".
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import * as esbuild from 'esbuild'
import { build, sourceId } from './build.js'
import { writeClientPackages } from './client-packages.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = 'dist/package'
/** These packages load their native parts themselves. */
const dependencies = ['libsql', '@node-rs/argon2']

const { values: { commit, repository, destination } } = parseArgs({
  options: {
    commit: { type: 'string' },
    /** npm shows from which repository a package was built, if that repository matches this option. */
    repository: { type: 'string' },
    destination: { type: 'string', default: join(root, 'release') },
  },
})

rmSync(join(root, folder), { recursive: true, force: true })
mkdirSync(destination, { recursive: true })
await build('src/main.ts', {
  folder,
  isSmall: true,
  define: {
    AGENT_GRID_COMMAND: `npx --no -- ${read('package.json').name}`,
    AGENT_GRID_BUILD: sourceId(),
    ...(commit && { AGENT_GRID_COMMIT: commit }),
  },
})
await writeStart()
await writeClientPackages(join(root, folder, 'clients'))
writeFileSync(join(root, folder, 'package.json'), JSON.stringify(manifest(), null, 2))
for (const [from, to] of [['PACKAGE.md', 'README.md'], ['LICENSE'], ['CHANGELOG.md'], ['docs']]) {
  if (!existsSync(join(root, from))) continue
  // Pictures are omitted, because the documents are read in a terminal.
  const filter = (path: string) => !path.endsWith('.webp')
  cpSync(join(root, from), join(root, folder, to ?? from), { recursive: true, filter })
}
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
execFileSync(npm, ['pack', '--silent', '--pack-destination', destination], {
  cwd: join(root, folder),
  stdio: ['ignore', 'inherit', 'inherit'],
})

/** Writes the program that `npx` runs, next to the two programs that it chooses from. */
async function writeStart(): Promise<void> {
  const { outputFiles: [{ text }] } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['src/start.ts'],
    bundle: true,
    external: ['./client.ts', './main.ts'],
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: '#!/usr/bin/env node' },
    tsconfigRaw: {},
    write: false,
  })
  writeFileSync(join(root, folder, 'src/start.js'), text.replace(/import\("\.\/(\w+)\.ts"\)/g, 'import("./$1.js")'))
}

function read(path: string) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}

function manifest(): Record<string, unknown> {
  const { name, version, description, license, engines, keywords } = read('package.json')
  const { packages } = read('package-lock.json')
  return {
    name,
    version,
    description,
    keywords,
    license,
    type: 'module',
    engines,
    bin: { 'agent-grid': 'src/start.js' },
    files: ['src/*.js', 'src/*.cjs', 'src/*.txt', 'src/agent-grid.tgz', 'clients', 'docs', 'CHANGELOG.md'],
    dependencies: Object.fromEntries(dependencies.map((name) => [name, packages[`node_modules/${name}`].version])),
    publishConfig: { access: 'public', provenance: true },
    ...(repository && { repository: { type: 'git', url: repository } }),
  }
}
