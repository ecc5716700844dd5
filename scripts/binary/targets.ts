/** The platforms of the single binary, and the npm packages with their native parts. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The cache for packages of other platforms, which `npm ci` does not install. */
const cache = join(root, 'node_modules/.cache/agent-grid')

export interface Target {
  /** The name used by `Bun.build`. */
  readonly bun: string
  readonly kind: ExecutableKind
  /** The package that contains Bun for this platform, and the path of Bun in the package. */
  readonly runtime: readonly [name: string, path: string]
  /** The native parts, by the package that loads them. */
  readonly native: Readonly<Record<NativePackage, readonly [name: string, path: string]>>
}

export type NativePackage = 'libsql' | '@node-rs/argon2'

/** Describes a target. `libsql` and `nodeRs` are the platform's names in the native packages. */
function target(
  bun: string,
  kind: ExecutableKind,
  { runtime, libsql, nodeRs }: { runtime: string; libsql: string; nodeRs: string },
): Target {
  const exe = kind.format === 'PE' ? '.exe' : ''
  return {
    bun,
    kind,
    runtime: [`@oven/bun-${runtime}`, `bin/bun${exe}`],
    native: {
      libsql: [`@libsql/${libsql}`, 'index.node'],
      '@node-rs/argon2': [`@node-rs/argon2-${nodeRs}`, `argon2.${nodeRs}.node`],
    },
  }
}

/** All platforms. Linux targets use glibc, unless their name contains musl, which Alpine uses. */
export const targets = {
  'linux-x64': target('bun-linux-x64', { format: 'ELF', arch: 'x64' }, {
    runtime: 'linux-x64',
    libsql: 'linux-x64-gnu',
    nodeRs: 'linux-x64-gnu',
  }),
  'linux-arm64': target('bun-linux-arm64', { format: 'ELF', arch: 'arm64' }, {
    runtime: 'linux-aarch64',
    libsql: 'linux-arm64-gnu',
    nodeRs: 'linux-arm64-gnu',
  }),
  'linux-x64-musl': target('bun-linux-x64-musl', { format: 'ELF', arch: 'x64' }, {
    runtime: 'linux-x64-musl',
    libsql: 'linux-x64-musl',
    nodeRs: 'linux-x64-musl',
  }),
  'linux-arm64-musl': target('bun-linux-arm64-musl', { format: 'ELF', arch: 'arm64' }, {
    runtime: 'linux-aarch64-musl',
    libsql: 'linux-arm64-musl',
    nodeRs: 'linux-arm64-musl',
  }),
  'macos-x64': target('bun-darwin-x64', { format: 'Mach-O', arch: 'x64' }, {
    runtime: 'darwin-x64',
    libsql: 'darwin-x64',
    nodeRs: 'darwin-x64',
  }),
  'macos-arm64': target('bun-darwin-arm64', { format: 'Mach-O', arch: 'arm64' }, {
    runtime: 'darwin-aarch64',
    libsql: 'darwin-arm64',
    nodeRs: 'darwin-arm64',
  }),
  'windows-x64': target('bun-windows-x64', { format: 'PE', arch: 'x64' }, {
    runtime: 'windows-x64',
    libsql: 'win32-x64-msvc',
    nodeRs: 'win32-x64-msvc',
  }),
} as const satisfies Record<string, Target>

export type TargetName = keyof typeof targets

/** Returns the platform of this process. Fails if no binary supports it. */
export function ownTarget(): TargetName {
  const system = ({ darwin: 'macos', win32: 'windows' } as Record<string, string>)[process.platform] ?? process.platform
  const name = `${system}-${process.arch}`
  if (!(name in targets)) {
    throw new Error(`There is no binary for ${name}, only for ${Object.keys(targets).join(', ')}.`)
  }
  return name as TargetName
}

/**
 * The path of a file in a package that `npm ci` installed. A package that it did not install is downloaded from npm, in
 * the version and with the hash of `package-lock.json`. Fails if npm does not have it.
 */
export function packageFile([name, path]: readonly [name: string, path: string]): string {
  const installed = join(root, 'node_modules', name, path)
  return existsSync(installed) ? installed : join(fetched(name), path)
}

/** Returns the folder of a package for another platform. */
function fetched(name: string): string {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const entry = lock.packages[`node_modules/${name}`]
  if (!entry) throw new Error(`package-lock.json does not have ${name}.`)
  const folder = join(cache, `${name.replace('/', '-')}-${entry.version}`)
  if (existsSync(folder)) return folder

  mkdirSync(cache, { recursive: true })
  const temporary = mkdtempSync(join(cache, 'fetch-'))
  try {
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
    // The package is only downloaded, because it cannot be installed on this platform.
    execFileSync(npm, ['pack', `${name}@${entry.version}`, '--silent', '--pack-destination', temporary], { cwd: root })
    const archive = join(temporary, `${name.replace('@', '').replace('/', '-')}-${entry.version}.tgz`)
    const hash = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
    if (hash !== entry.integrity) throw new Error(`${basename(archive)} is not the file that package-lock.json names.`)
    execFileSync('tar', ['-xzf', archive, '-C', dirname(archive)])
    renameSync(join(temporary, 'package'), folder)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  return folder
}

export interface ExecutableKind {
  readonly format: 'ELF' | 'Mach-O' | 'PE'
  readonly arch: 'x64' | 'arm64'
}

/**
 * Reads a file's header. Fails unless it is a program or module for x64 or arm64.
 *
 * @see "System V ABI", ELF header: `e_machine`; Mach-O `mach_header_64`: `cputype`; "PE Format": Machine
 */
export function executableKind(file: string): ExecutableKind {
  const head = new DataView(new ArrayBuffer(4096))
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, head)
  } finally {
    closeSync(descriptor)
  }
  const kind = kindOf(head)
  if (!kind) throw new Error(`${file} is no program for x64 or arm64.`)
  return kind
}

function kindOf(head: DataView): ExecutableKind | undefined {
  if (head.getUint32(0) === 0x7f454c46) return known('ELF', { 0x3e: 'x64', 0xb7: 'arm64' }, head.getUint16(18, true))
  if (head.getUint32(0, true) === 0xfeedfacf) {
    return known('Mach-O', { 0x01000007: 'x64', 0x0100000c: 'arm64' }, head.getUint32(4, true))
  }
  const header = head.getUint32(0x3c, true)
  if (head.getUint16(0) !== 0x4d5a || header > head.byteLength - 6 || head.getUint32(header) !== 0x50450000) return
  return known('PE', { 0x8664: 'x64', 0xaa64: 'arm64' }, head.getUint16(header + 4, true))
}

function known(
  format: ExecutableKind['format'],
  machines: Record<number, ExecutableKind['arch']>,
  machine: number,
): ExecutableKind | undefined {
  return machine in machines ? { format, arch: machines[machine] } : undefined
}
