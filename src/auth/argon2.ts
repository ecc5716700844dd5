/** Argon2id with 19 MiB, two passes, one lane and a tag of 32 bytes. Passwords come normalised. Security 3.2. */
import { once } from '../lib/once.ts'

export interface Argon2 {
  /** The PHC string, with a new salt. */
  hash(password: string): Promise<string>
  /** False too when the hash is none. */
  verify(hash: string, password: string): Promise<boolean>
}

const memoryKiB = 19_456
const iterations = 2
const parallelism = 1
const tagBytes = 32
const saltBytes = 16

/** oslo's where its native module loads, otherwise the one of WebAssembly. Both read each other's hashes. */
export const argon2 = once(() => nativeArgon2().catch(() => wasmArgon2()))

/** Off the main thread. Rejects where there is no native module for this system. */
export async function nativeArgon2(): Promise<Argon2> {
  // Loaded only here: the module brings native code that most processes never need.
  const { Argon2id } = await import('oslo/password')
  const oslo = new Argon2id({ memorySize: memoryKiB, iterations, tagLength: tagBytes, parallelism })
  return {
    hash: (password) => oslo.hash(password),
    verify: (hash, password) => oslo.verify(hash, password).catch(() => false),
  }
}

/** Everywhere, but it blocks the event loop for 30 to 90 ms each time. */
export async function wasmArgon2(): Promise<Argon2> {
  const { argon2id, argon2Verify } = await import('hash-wasm')
  return {
    hash: (password) =>
      argon2id({
        password,
        salt: crypto.getRandomValues(new Uint8Array(saltBytes)),
        memorySize: memoryKiB,
        iterations,
        parallelism,
        hashLength: tagBytes,
        outputType: 'encoded',
      }),
    verify: (hash, password) => argon2Verify({ hash, password }).catch(() => false),
  }
}
