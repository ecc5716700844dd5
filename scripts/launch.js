// @ts-check
/**
 * Starts a built program. `scripts/build.js` writes this file next to the program. V8's code cache saves compilation,
 * which is half of a start's processor time.
 */
import { createHash } from 'node:crypto'
import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import vm from 'node:vm'
import { isMainThread } from 'node:worker_threads'

/**
 * The program's file name. It contains a hash, because V8 checks a cache only against the length of the program.
 *
 * @type {string}
 */
// @ts-ignore -- the build replaces it
const program = PROGRAM

/** The cache is written after this many ms, so that it comes from a started server and not from a command. */
const started = 5_000

const file = fileURLToPath(new URL(program, import.meta.url))
const place = createHash('sha256').update(file).digest('hex').slice(0, 8)
/** V8 itself refuses caches of other V8 versions or flags. The path is in the name, because stack traces contain it. */
const cacheFile = `${file}.${process.version}-${process.arch}-${place}.cache`

mapStackTraces()
const script = new vm.Script(
  // The text is a function with the parameters passed below. It is ASCII, and `latin1` is the fastest decoding.
  readFileSync(file, 'latin1'),
  {
    filename: file,
    lineOffset: -1,
    cachedData: readCache(),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  },
)
if (script.cachedDataRejected !== false && isMainThread) {
  // The image build sets this variable for a command that does the same work as a server.
  if (process.env.CODE_CACHE === 'write') process.once('exit', writeCache)
  else setTimeout(writeCache, started).unref()
}
script.runInThisContext()({ exports: {} }, createRequire(import.meta.url), import.meta.url)

function readCache() {
  try {
    return readFileSync(cacheFile)
  } catch {
    // The cache does not exist yet or is unreadable.
    return undefined
  }
}

/** Writes the code compiled so far. In a read-only folder, each start compiles. */
function writeCache() {
  const temporary = `${cacheFile}.${process.pid}`
  try {
    accessSync(dirname(file), constants.W_OK)
    // Flushed, so that the file is either complete or missing after a power failure.
    writeFileSync(temporary, script.createCachedData(), { flush: true })
    renameSync(temporary, cacheFile)
  } catch {
    try {
      rmSync(temporary, { force: true })
    } catch {
      // The temporary file was not written.
    }
  }
}

/** Maps stack traces to the sources. The source map is read at the first stack trace. */
function mapStackTraces() {
  const inProgram = new RegExp(`${file.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}:(\\d+):(\\d+)`)
  /** Mapped positions, by position in the program. */
  const found = new Map()

  Error.prepareStackTrace = (error, callSites) => {
    const lines = callSites.map((site) => `    at ${String(site).replace(inProgram, inSource)}`)
    return [Error.prototype.toString.call(error), ...lines].join('\n')
  }

  /** @type {(position: string, line: string, column: string) => string} */
  function inSource(position, line, column) {
    let known = found.get(position)
    if (known === undefined) found.set(position, known = find(Number(line) - 1, Number(column) - 1) ?? position)
    return known
  }

  /** @type {(line: number, column: number) => string | undefined} */
  function find(line, column) {
    try {
      const { sources, mappings } = JSON.parse(readFileSync(`${file}.map`, 'utf8'))
      const original = originalPosition(`${mappings};`, line, column)
      if (!original) return undefined
      const [source, ...position] = original
      return [fileURLToPath(new URL(sources[source], pathToFileURL(file))), ...position.map((n) => n + 1)].join(':')
    } catch {
      // There is no source map.
      return undefined
    }
  }
}

/**
 * The source, line and column of the last mapping at or before a position; all from 0. Node's `SourceMap` would keep
 * 100 MB for a map of this size. @see ECMA-426, "Mappings"
 *
 * @param {string} mappings
 * @param {number} line
 * @param {number} column
 * @returns {[source: number, line: number, column: number] | undefined}
 */
function originalPosition(mappings, line, column) {
  const digits = new Uint8Array(128)
  for (const [i, char] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries()) {
    digits[char.charCodeAt(0)] = i
  }
  const [comma, semicolon] = [44, 59]
  // A segment's fields: column in the program, source, line, column, name. Each is relative to the previous one.
  const fields = [0, 0, 0, 0, 0]
  let [programLine, field, value, shift] = [0, 0, 0, 0]
  /** @type {[number, number, number] | undefined} */
  let last
  for (let i = 0; i < mappings.length; i++) {
    const char = mappings.charCodeAt(i)
    if (char === comma || char === semicolon) {
      if (programLine === line && field > 1 && fields[0] <= column) last = [fields[1], fields[2], fields[3]]
      field = 0
      if (char === comma) continue
      if (programLine++ === line) return last
      fields[0] = 0
    } else {
      const digit = digits[char]
      value += (digit & 31) << shift
      shift += 5
      if (digit & 32) continue
      fields[field++] += value & 1 ? -(value >> 1) : value >> 1
      value = shift = 0
    }
  }
  return undefined
}
