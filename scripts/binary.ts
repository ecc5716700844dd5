/**
 * Builds the complete program into a single executable with Bun: `npm run lab -- binary [--target NAME[,NAME …]]
 * [--outfile PATH] [--commit HASH]`. Targets are listed in `binary/targets.ts`; `all` builds every target. Target names
 * are appended to the path. The default target is this platform.
 *
 * See docs/operating/install.md, "Single binary".
 */
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { manual } from '../src/cli/manual.ts'
import { buildClientPackage, sourceId, withoutValidator } from './build.js'
import {
  executableKind,
  type NativePackage,
  ownTarget,
  packageFile,
  type Target,
  type TargetName,
  targets,
} from './binary/targets.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Maximum size in bytes, because users download the file. */
const maxSize = 135_000_000

/** The part of Bun that this file uses. @see https://bun.sh/docs/bundler/executables */
interface Bun {
  build(options: Record<string, unknown>): Promise<{ success: boolean; logs: unknown[] }>
}

interface Build {
  onLoad(what: { filter: RegExp }, load: (file: { path: string }) => { contents: string; loader: 'js' | 'ts' }): void
}

/** A string from the program. The binary contains it unchanged only if the program is ASCII. */
const anyText = 'There is no command "'

/** The code with which the database driver loads its native part, up to the end of `requireNative`. */
const dynamicRequire =
  /const \{ load, currentTarget \} = require\("@neon-rs\/load"\);[^]*?\nfunction requireNative\(\) \{[^]*?\n\}\n/

/** Names the target's native parts, because packages search for them at run time, which a bundler cannot follow. */
function nativeParts(target: Target) {
  const native = (name: NativePackage) => JSON.stringify(packageFile(target.native[name]))
  return {
    name: 'native parts',
    setup(build: Build) {
      build.onLoad({ filter: /node_modules[\\/]libsql[\\/]index\.js$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (!dynamicRequire.test(text)) throw new Error(`${path} is not the version that this build knows.`)
        const contents = text.replace(
          dynamicRequire,
          () => `function requireNative() { return require(${native('libsql')}) }\n`,
        )
        return { contents, loader: 'js' }
      })
      build.onLoad({ filter: /node_modules[\\/]@node-rs[\\/]argon2[\\/]index\.js$/ }, () => {
        // The exports are copied, because the bundler does not know a native module's exports.
        return { contents: `module.exports = { ...require(${native('@node-rs/argon2')}) }`, loader: 'js' }
      })
      // Escapes non-ASCII characters in a comment that Bun keeps, because they would double the stored text's size.
      build.onLoad({ filter: /node_modules[\\/]otpauth[\\/].*\.m?js$/ }, ({ path }) => {
        return { contents: readFileSync(path, 'utf8').replace(/^\/\/!.*$/gm, toAscii), loader: 'js' }
      })
    },
  }
}

function toAscii(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)
}

/** The package that a grid serves. The binary contains it, next to the program. */
const clientPackage = join(root, 'dist/binary/agent-grid.tgz')
/** The plugin, built next to the package. `connect` writes it to the path that opencode loads. */
const openCodePlugin = join(root, 'dist/binary/opencode-plugin.js')
const withClientPackage = {
  name: 'client package',
  setup(build: Build) {
    build.onLoad({ filter: /src[\\/]cli[\\/]client-package\.ts$/ }, ({ path }) => {
      const embedded = `import archive from ${JSON.stringify(clientPackage)} with { type: 'file' }`
      return { contents: `${embedded}\nvoid archive\n${readFileSync(path, 'utf8')}`, loader: 'ts' }
    })
  },
}

/** Embeds the pages of the manual in the binary. */
const withManual = {
  name: 'manual',
  setup(build: Build) {
    build.onLoad({ filter: /src[\\/]cli[\\/]manual\.ts$/ }, ({ path }) => {
      const pages = Object.values(manual).map((file) => JSON.stringify(join(root, file)))
      const embedded = pages.map((page, i) => `import page${i} from ${page} with { type: 'file' }\nvoid page${i}\n`)
      return { contents: embedded.join('') + readFileSync(path, 'utf8'), loader: 'ts' }
    })
  },
}

/** Builds for one platform. The file has a temporary name until it is checked. */
async function buildBinary(name: TargetName, outfile: string, commit: string | undefined): Promise<void> {
  const target: Target = targets[name]
  for (const file of [target.runtime, ...Object.values(target.native)]) expectKind(packageFile(file), target)

  const exe = target.kind.format === 'PE' ? '.exe' : ''
  const temporary = `${outfile}.${process.pid}${exe}`
  mkdirSync(dirname(outfile), { recursive: true })
  try {
    const { success, logs } = await (globalThis as unknown as { Bun: Bun }).Bun.build({
      // The first entry point is the program. The binary stores the others next to it, without their path below `root`.
      entrypoints: [join(root, 'src/start.ts'), join(root, 'src/thread.ts')],
      root: join(root, 'src'),
      naming: { asset: '[name].[ext]' },
      target: 'bun',
      // Names are not shortened, so that stack traces stay readable.
      minify: { whitespace: true, syntax: true },
      define: {
        AGENT_GRID_OPENCODE_PLUGIN: JSON.stringify(readFileSync(openCodePlugin, 'utf8')),
        AGENT_GRID_BUILD: JSON.stringify(sourceId()),
        ...(commit !== undefined && { AGENT_GRID_COMMIT: JSON.stringify(commit) }),
      },
      plugins: [nativeParts(target), withClientPackage, withManual, withoutValidator],
      compile: {
        target: target.bun,
        executablePath: packageFile(target.runtime),
        outfile: temporary,
        // Settings come from the environment, not from files in the current folder.
        autoloadDotenv: false,
        autoloadBunfig: false,
      },
    })
    if (!success) throw new Error(logs.join('\n'))
    expectKind(temporary, target)
    const bytes = readFileSync(temporary)
    if (!bytes.includes(anyText)) throw new Error('The program in the binary is not ASCII. Which package is not?')
    const size = bytes.length
    if (size > maxSize) throw new Error(`The binary has ${size} bytes. The aim is at most ${maxSize}.`)
    renameSync(temporary, `${outfile}${exe}`)
    console.log(`${outfile}${exe}  ${(size / 1e6).toFixed(1)} MB  ${target.kind.format} ${target.kind.arch}`)
  } finally {
    rmSync(temporary, { force: true })
  }
}

function expectKind(file: string, { kind }: Target): void {
  const { format, arch } = executableKind(file)
  if (format !== kind.format || arch !== kind.arch) {
    throw new Error(`${file} is for ${format} ${arch}, not for ${kind.format} ${kind.arch}.`)
  }
}

function chosenTargets(text: string | undefined): TargetName[] {
  if (text === undefined) return [ownTarget()]
  const names = text === 'all' ? Object.keys(targets) : text.split(',')
  const unknown = names.find((name) => !(name in targets))
  if (unknown !== undefined) {
    throw new Error(`There is no target "${unknown}": ${Object.keys(targets).join(', ')}, all.`)
  }
  return names as TargetName[]
}

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { target: { type: 'string' }, outfile: { type: 'string' }, commit: { type: 'string' } },
})
try {
  await buildClientPackage(clientPackage)
  for (const name of chosenTargets(values.target)) {
    const suffix = values.target === undefined ? '' : `-${name}`
    await buildBinary(name, resolve(`${values.outfile ?? join(root, 'release/agent-grid')}${suffix}`), values.commit)
  }
} catch (error) {
  // A failed build reports a list of errors.
  console.error(error instanceof AggregateError ? error.errors.join('\n') : (error as Error).message)
  process.exit(1)
}
