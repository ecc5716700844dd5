// @ts-check
/**
 * Builds a TypeScript program into one file for Node, including its packages. Also builds a file for threads and the
 * client package. The built program starts much faster than one whose files are compiled at load time, and needs less
 * memory. This file is JavaScript, because Node 20 cannot run TypeScript.
 */
import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Inputs of every build: this file, and the versions of esbuild and all packages. */
const commonInputs = ['scripts/build.js', 'scripts/launch.js', 'package.json', 'node_modules/.package-lock.json']
  .filter((path) => existsSync(join(root, path)))

/** Packages that load native code, and optional packages. */
const external = ['libsql', '@node-rs/*', 'bufferutil', 'utf-8-validate', 'pg-native']

/** The thread program, built next to each program that starts it. */
const thread = { program: 'src/thread.ts', startedBy: 'src/lib/run-on-thread.ts' }

/** The client package, built next to each program that serves it. */
const handedOut = { program: 'src/client.ts', by: 'src/cli/client-package.ts', file: 'agent-grid.tgz' }

/** The code that runs inside opencode, as one module that is not a program. */
const plugin = { program: 'src/clients/opencode-plugin.ts', file: 'opencode-plugin.js' }

/**
 * The entry of jsonc-parser that esbuild can bundle. The other entry loads its parts in a way that only Node supports.
 */
const alias = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' }

/**
 * A plugin for esbuild and Bun that omits ajv. The MCP SDK loads ajv, which takes 2 MB of memory, for an unused class.
 */
export const withoutValidator = {
  name: 'without validator',
  /** @param {{ onLoad(what: { filter: RegExp }, load: () => { contents: string, loader: 'js' }): void }} build */
  setup(build) {
    build.onLoad({ filter: /@modelcontextprotocol[\\/]server[\\/]dist[\\/]shimsNode\.mjs$/ }, () => ({
      contents:
        "export { default as process } from 'node:process'\nexport const DefaultJsonSchemaValidator = undefined\n",
      loader: 'js',
    }))
  },
}

/**
 * The variant of a build.
 *
 * @typedef {object} Flavour
 * @property {string} [folder] The output folder in the repository, by default `dist`.
 * @property {Record<string, string>} [define] Values for names in the program.
 * @property {boolean} [isSmall] Shortens variable names, which saves a quarter of the size. Names of functions and
 *   classes stay, for stack traces.
 */

/**
 * Builds `program`, the path of a TypeScript file in the repository, unless the files in `dist/` were built from the
 * same sources. Resolves to the path of the file that Node runs, `scripts/launch.js`. Next to that file are the
 * program, its source map, its packages' licences, and later V8's code cache. Several processes may build concurrently.
 *
 * In the program, `import.meta.url` is the URL of the file that Node runs, next to which it finds the thread program.
 *
 * @param {string} program
 * @param {Flavour} [flavour]
 */
export async function build(program, { folder = 'dist', define = {}, isSmall = false } = {}) {
  const file = join(root, folder, program.replace(/\.ts$/, '.js'))
  const inputs = await buildFile(program, file, define, isSmall)
  if (inputs.includes(thread.startedBy)) {
    await buildFile(
      thread.program,
      join(dirname(file), basename(thread.program).replace(/\.ts$/, '.js')),
      define,
      isSmall,
    )
  }
  if (inputs.includes(handedOut.by)) await buildClientPackage(join(dirname(file), handedOut.file), define)
  return file
}

/** A hash of all of the program's sources and packages. It distinguishes two builds of the same version. */
export function sourceId() {
  const files = ['src', 'db'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name)))
  )
  return hashOf([...commonInputs, ...files.filter((path) => statSync(join(root, path)).isFile()).sort()], {}).slice(
    0,
    12,
  )
}

/**
 * Builds the commands that need no database into an npm package with a single self-contained file.
 *
 * @param {string} archive
 * @param {Record<string, string>} [define]
 */
export async function buildClientPackage(archive, define = {}) {
  const program = join(dirname(archive), basename(handedOut.program).replace(/\.ts$/, '.js'))
  await buildFile(handedOut.program, program, define)
  const pluginFile = join(dirname(archive), plugin.file)
  await buildPlugin(pluginFile)
  const parts = [program, program.replace(/\.js$/, '.third-party.txt'), join(dirname(program), programOf(program))]
    .concat(pluginFile)
    .concat(existsSync(join(root, 'LICENSE')) ? join(root, 'LICENSE') : [])
  if (existsSync(archive) && parts.every((part) => statSync(part).mtimeMs <= statSync(archive).mtimeMs)) return

  const { name, version, description, license, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const bin = { 'agent-grid': basename(program) }
  // A grid serves the package. It is never published.
  const manifest = { name, version, private: true, description, license, type: 'module', engines, bin }
  const folder = mkdtempSync(join(dirname(archive), 'client-'))
  try {
    mkdirSync(join(folder, 'package'))
    writeFileSync(join(folder, 'package/package.json'), JSON.stringify(manifest, null, 2))
    for (const part of parts) {
      const text = readFileSync(part, 'utf8')
      writeFileSync(join(folder, 'package', basename(part)), part === program ? `#!/usr/bin/env node\n${text}` : text)
    }
    execFileSync('tar', ['-czf', join(folder, 'archive'), '-C', folder, 'package'])
    renameSync(join(folder, 'archive'), archive)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Builds the plugin for opencode, unless its last line shows that it was built from the current sources.
 *
 * @param {string} file
 */
async function buildPlugin(file) {
  if (isFreshPlugin(file)) return
  const esbuild = await loadEsbuild()
  const { outputFiles: [{ text }], metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [plugin.program],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    tsconfigRaw: {},
    minifyWhitespace: true,
    minifySyntax: true,
    metafile: true,
    write: false,
  })
  await esbuild.stop()
  const inputs = [...commonInputs, ...Object.keys(metafile.inputs)]
  writeAtomically(file, `${text}// ${JSON.stringify({ hash: hashOf(inputs, {}), inputs })}\n`)
}

/** @param {string} file */
function isFreshPlugin(file) {
  try {
    const { hash, inputs } = builtFrom(file)
    return hash === hashOf(inputs, {})
  } catch {
    return false
  }
}

/** Loads esbuild. It is not imported at the top, because most starts do not build. */
async function loadEsbuild() {
  try {
    return await import('esbuild')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    console.error(
      'esbuild is missing, which builds the program before it starts: "npm ci --omit=dev" leaves it out. Run "npm ci". ' +
        'To run without packages of development, run "npm run build" with them, and then "node dist/src/main.js serve".',
    )
    process.exit(1)
  }
}

/**
 * Builds one file. Resolves to its sources.
 *
 * @param {string} program
 * @param {string} file
 * @param {Record<string, string>} define
 * @param {boolean} [isSmall]
 * @returns {Promise<string[]>}
 */
async function buildFile(program, file, define, isSmall = false) {
  const known = freshInputs(file, define)
  if (known) return known

  const startedAt = Date.now()
  const esbuild = await loadEsbuild()
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [program],
    bundle: true,
    external,
    alias,
    plugins: [withoutValidator],
    platform: 'node',
    // V8's code cache works for scripts, such as CommonJS modules. Dynamic imports are evaluated on demand.
    format: 'cjs',
    target: 'node20',
    // A script's dynamic import prints a warning on Node 20. All modules imported this way are scripts or built into
    // Node.
    supported: { 'dynamic-import': false },
    outfile: file,
    // No source may use this name, because esbuild does not rename variables that would shadow it.
    define: { ...literals(define), 'import.meta.url': 'PROGRAM_URL' },
    // Makes esbuild ignore a tsconfig in a parent folder.
    tsconfigRaw: {},
    // Short text saves memory, because V8 keeps it. Names stay, for stack traces and profiles.
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: isSmall,
    keepNames: isSmall,
    // The source map is loaded only for a stack trace.
    sourcemap: 'external',
    sourcesContent: false,
    legalComments: 'external',
    metafile: true,
    write: false,
  })
  const [code, map, comments] = ['', '.map', '.LEGAL.txt'].map((suffix) =>
    outputFiles.find(({ path }) => path === `${file}${suffix}`)?.text ?? ''
  )
  // The text is wrapped at build time, so that a start needs no second copy in memory.
  const text = `(function (module, require, PROGRAM_URL) {\n${code}\n})`
  const name = `${basename(file, '.js')}-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.cjs`
  const launch = await esbuild.transform(readFileSync(join(root, 'scripts/launch.js'), 'utf8'), {
    define: literals({ PROGRAM: name }),
  })
  await esbuild.stop()

  const sources = Object.keys(metafile.inputs)
  // Packages are identified by version, because reading all of their files would double the start time.
  const inputs = [...commonInputs, ...sources.filter((path) => packageOf(path) === undefined)]
  const hash = hashOf(inputs, define)
  // A source that changed during the build may be missing from the file. Without a hash, the next start builds again.
  const isConsistent = inputs.every((input) => statSync(join(root, input)).mtimeMs < startedAt)
  const folder = dirname(file)
  writeAtomically(join(folder, name), text)
  writeAtomically(join(folder, `${name}.map`), map)
  writeAtomically(file.replace(/\.js$/, '.third-party.txt'), `${licences(sources)}${comments}`)
  const built = { hash: isConsistent ? hash : '', inputs, program: name, bytes: Buffer.byteLength(text) }
  writeAtomically(file, `${launch.code}// ${JSON.stringify(built)}\n`)
  removeOlder(folder, name)
  return inputs
}

/**
 * Returns a program's sources, if its files were built from the current sources. The last line of `file` lists the
 * sources with a hash.
 *
 * @param {string} file
 * @param {Record<string, string>} define
 * @returns {string[] | undefined}
 */
function freshInputs(file, define) {
  try {
    const { hash, inputs, program, bytes } = builtFrom(file)
    const isWhole = statSync(join(dirname(file), program)).size === bytes
    return isWhole && hash === hashOf(inputs, define) ? inputs : undefined
  } catch {
    // The program was never built, or a source was deleted.
    return undefined
  }
}

/**
 * Parses the last line of a built file.
 *
 * @param {string} file
 * @returns {{ hash: string, inputs: string[], program: string, bytes: number }}
 */
function builtFrom(file) {
  const built = readFileSync(file, 'utf8')
  return JSON.parse(built.slice(built.lastIndexOf('\n// ') + 4))
}

/**
 * Returns the file name of the program that a built file starts.
 *
 * @param {string} file
 */
function programOf(file) {
  return builtFrom(file).program
}

/**
 * @param {Record<string, string>} values
 * @returns {Record<string, string>}
 */
function literals(values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]))
}

/**
 * @param {string[]} inputs
 * @param {Record<string, string>} define
 */
function hashOf(inputs, define) {
  const hash = createHash('sha256').update(JSON.stringify(define))
  for (const input of inputs) hash.update(readFileSync(join(root, input))).update('\0')
  return hash.digest('hex')
}

/**
 * Returns the folder of the package that a file belongs to, or undefined for files of this repository.
 *
 * @param {string} path
 */
function packageOf(path) {
  return path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0]
}

/**
 * The licences of all packages in the program, which most of them require.
 *
 * @param {string[]} sources
 */
function licences(sources) {
  const folders = [...new Set(sources.map(packageOf))].filter((folder) => folder !== undefined).sort()
  const entries = folders.map((folder) => {
    const { name, version, license, author } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const files = readdirSync(join(root, folder)).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name)).sort()
    const texts = files.map((name) => readFileSync(join(root, folder, name), 'utf8').trim())
    const by = typeof author === 'string' ? author : author?.name
    return [`${name} ${version}, ${license}${by === undefined ? '' : `, ${by}`}`, ...texts].join('\n\n')
  })
  return `${['This program contains these packages.', ...entries].join(`\n\n${'-'.repeat(80)}\n`)}\n`
}

/**
 * Removes files of earlier builds of a program, as far as possible.
 *
 * @param {string} folder
 * @param {string} name The file name of the program.
 */
function removeOlder(folder, name) {
  const prefix = name.slice(0, name.lastIndexOf('-') + 1)
  const older = readdirSync(folder).filter((other) =>
    other.startsWith(prefix) && /^[0-9a-f]{16}\.cjs/.test(other.slice(prefix.length)) && !other.startsWith(name)
  )
  for (const other of older) rmSync(join(folder, other), { force: true })
}

/**
 * Writes the file atomically, because another process may read it.
 *
 * @param {string} file
 * @param {string} text
 */
function writeAtomically(file, text) {
  const temporary = `${file}.${randomUUID()}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(temporary, text)
  renameSync(temporary, file)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const program of process.argv.slice(2)) console.log(await build(program))
}
