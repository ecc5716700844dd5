/** Reading and writing pieces of files at their places. */
import type { FileHandle } from 'node:fs/promises'

/** Up to `length` bytes from `position`: fewer only at the end of the file. */
export async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

/** Write all bytes from `position` on. */
export async function writeAt(file: FileHandle, position: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten
  }
}
