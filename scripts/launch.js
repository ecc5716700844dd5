// @ts-check
/**
 * Starts a built program: `scripts/build.js` writes this file next to the program, which it loads with V8's code cache.
 * The cache saves compiling, which is half of a start's processor time.
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
 * The program's file name. It contains a hash, because V8 compares a cache only with the length of its program.
 *
 * @type {string}
 */
// @ts-ignore -- the build replaces it
const program = PROGRAM

/** A server has started by then. A command ends earlier, and its compiled code would not help a server. */
const started = 5_000

const file = fileURLToPath(new URL(program, import.meta.url))
const place = createHash('sha256').update(file).digest('hex').slice(0, 8)
/** V8 itself refuses a cache from another V8 version or with other flags. The path is in it, for stack traces. */
const cacheFile = `${file}.${process.version}-${process.arch}-${place}.cache`

mapStackTraces()
const script = new vm.Script(
  // A function with the parameters below. The build writes only ASCII. This is the fastest way to decode it.
  readFileSync(file, 'latin1'),
  {
    filename: file,
    lineOffset: -1,
    cachedData: readCache(),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  },
)
if (script.cachedDataRejected !== false && isMainThread) {
  // The image build runs a command that does the same work as a server.
  if (process.env.CODE_CACHE === 'write') process.once('exit', writeCache)
  else setTimeout(writeCache, started).unref()
}
script.runInThisContext()({ exports: {} }, createRequire(import.meta.url), import.meta.url)

function readCache() {
  try {
    return readFileSync(cacheFile)
  } catch {
    // There is no cache yet, or it cannot be read.
    return undefined
  }
}

/** Writes what has been compiled so far. Where nothing can be written, each start compiles. */
function writeCache() {
  const temporary = `${cacheFile}.${process.pid}`
  try {
    accessSync(dirname(file), constants.W_OK)
    // Flushed, so that after a power failure the file is either complete or missing.
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

/** Makes stack traces name the sources. The source map is read when there is one. */
function mapStackTraces() {
  const inProgram = new RegExp(`${file.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}:(\\d+):(\\d+)`)
  /** Results, by position in the program. */
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
