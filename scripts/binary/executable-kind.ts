/** What an executable file or a native module is for, as its header says. */
import { closeSync, openSync, readSync } from 'node:fs'

export interface ExecutableKind {
  readonly format: 'ELF' | 'Mach-O' | 'PE'
  readonly arch: 'x64' | 'arm64'
}

/**
 * Read the header of a file. Fails if it is no program or module for x64 or arm64.
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
