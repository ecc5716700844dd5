/**
 * Argon2id with 19 MiB, two passes, one lane and a tag of 32 bytes. Callers pass normalised passwords.
 *
 * See docs/security.md, "Passwords".
 */
import { once } from '../lib/lazy.ts'

export interface Argon2 {
  /** Resolves to a PHC string with a new salt. */
  hash(password: string): Promise<string>
  /** Resolves to false for a malformed hash, too. */
  verify(hash: string, password: string): Promise<boolean>
}

const memoryKiB = 19_456
const iterations = 2
const parallelism = 1
const tagBytes = 32
const saltBytes = 16

/** The native implementation of oslo if it loads, otherwise WebAssembly. Each verifies the other's hashes. */
export const argon2 = once(() => nativeArgon2().catch(() => wasmArgon2()))

/** Runs off the main thread. Rejects if this platform has no native module. */
export async function nativeArgon2(): Promise<Argon2> {
  // Loaded on first use: most processes never need the native code.
  const { Argon2id } = await import('oslo/password')
  const oslo = new Argon2id({ memorySize: memoryKiB, iterations, tagLength: tagBytes, parallelism })
  return {
    hash: (password) => oslo.hash(password),
    verify: (hash, password) => oslo.verify(hash, password).catch(() => false),
  }
}

/** Runs on every platform, but blocks the event loop for 30 to 90 ms per call. */
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
