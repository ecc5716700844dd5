// @ts-check
/**
 * Builds a TypeScript program into one file for Node, with a second one for the database thread. It starts in less than half the time of compiling each file while
 * it loads, and needs less processor time. This file is JavaScript, because Node 20 cannot run TypeScript.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Inputs of every build: how it works, and the version of esbuild. */
const commonInputs = ['scripts/build.js', 'package.json']

/** A thread is a program of its own, built beside each program that starts it. */
const thread = { program: 'src/store/driver/database-thread.ts', startedBy: 'src/store/driver/thread-connection.ts' }

/**
 * Build `program`, the path of a TypeScript file in the repository, unless the file in `dist/` was built from the same
 * sources. Resolves to the path of the built file. Packages are not included. Several processes may build at once.
 *
 * @param {string} program
 */
export async function build(program) {
  const file = join(root, 'dist', program.replace(/\.ts$/, '.js'))
  const inputs = await buildFile(program, file)
  if (inputs.includes(thread.startedBy)) {
    await buildFile(thread.program, join(dirname(file), basename(thread.program).replace(/\.ts$/, '.js')))
  }
  return file
}

/**
 * Build one file. Resolves to its sources.
 *
 * @param {string} program
 * @param {string} file
 * @returns {Promise<string[]>}
 */
async function buildFile(program, file) {
  const known = freshInputs(file)
  if (known) return known

  const startedAt = Date.now()
  // Dynamic, because most starts need no build.
  const esbuild = await import('esbuild')
  const { outputFiles: [{ text }], metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [program],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Ignore a tsconfig of a parent folder.
    tsconfigRaw: {},
    // Stack traces name functions, and the file has them under the path of their source. A source map would cost
    // Node 15 MiB and a tenth of a second.
    sourcemap: false,
    metafile: true,
    write: false,
  })
  await esbuild.stop()
  const inputs = [...commonInputs, ...Object.keys(metafile.inputs)]
  const hash = hashOf(inputs)
  // A source that changed during the build may be in the file or not. Without a hash the next start builds again.
  const isConsistent = inputs.every((input) => statSync(join(root, input)).mtimeMs < startedAt)
  writeAtomically(file, `${text}// ${JSON.stringify({ hash: isConsistent ? hash : '', inputs })}\n`)
  return inputs
}

/**
 * The sources of a file, if it was built from the current ones: its last line lists them with a hash.
 *
 * @param {string} file
 * @returns {string[] | undefined}
 */
function freshInputs(file) {
  try {
    const built = readFileSync(file, 'utf8')
    const { hash, inputs } = JSON.parse(built.slice(built.lastIndexOf('\n// ') + 4))
    return hash === hashOf(inputs) ? inputs : undefined
  } catch {
    // It was never built, or a source was deleted.
    return undefined
  }
}

/** @param {string[]} inputs */
function hashOf(inputs) {
  const hash = createHash('sha256')
  for (const input of inputs) hash.update(readFileSync(join(root, input))).update('\0')
  return hash.digest('hex')
}

/**
 * Write the whole file at once, because another process may read it.
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
