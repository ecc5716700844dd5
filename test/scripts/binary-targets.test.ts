/** The headers by which the build of the binary knows for what a file is. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { executableKind } from '../../scripts/binary/executable-kind.ts'
import { ownTarget, packageFile, targets } from '../../scripts/binary/targets.ts'

const elf = (machine: number) => bytes([0, 0x7f, 0x45, 0x4c, 0x46], [18, machine])
const machO = (cpu: number) => bytes([0, 0xcf, 0xfa, 0xed, 0xfe], [4, cpu, 0, 0, 1])
const pe = (machine: number) =>
  bytes([0, 0x4d, 0x5a], [0x3c, 0x80], [0x80, 0x50, 0x45, 0, 0, machine & 255, machine >> 8])

test.each([
  [elf(0x3e), 'ELF', 'x64'],
  [elf(0xb7), 'ELF', 'arm64'],
  [machO(7), 'Mach-O', 'x64'],
  [machO(12), 'Mach-O', 'arm64'],
  [pe(0x8664), 'PE', 'x64'],
  [pe(0xaa64), 'PE', 'arm64'],
])('a header says the platform: %#, %s %s', (head, format, arch) => {
  expect(kindOf(head)).toEqual({ format, arch })
})

test.each([
  ['another processor', elf(0x28)],
  ['a script', bytes([0, 0x23, 0x21, 0x2f])],
  ['a broken header', bytes([0, 0x4d, 0x5a], [0x3c, 255, 255, 255, 255])],
  ['nothing', new Uint8Array()],
])('a file of %s is refused', (_, head) => {
  expect(() => kindOf(head)).toThrow('is no program for x64 or arm64')
})

test('Bun and the native parts of this platform are for this platform', () => {
  const { kind, runtime, native } = targets[ownTarget()]

  for (const file of [runtime, ...Object.values(native)]) expect(executableKind(packageFile(file))).toEqual(kind)
})

/** 256 bytes with some at some places. */
function bytes(...parts: [place: number, ...values: number[]][]): Uint8Array {
  const all = new Uint8Array(256)
  for (const [place, ...values] of parts) all.set(values, place)
  return all
}

function kindOf(head: Uint8Array) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-header-'))
  try {
    const file = join(folder, `program-${process.pid}`)
    writeFileSync(file, head)
    return executableKind(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
